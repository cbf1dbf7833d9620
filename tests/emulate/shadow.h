/* The true call stack of emulated arm64 code, kept from its calls and returns: what any way to find a stack by looking
 * at registers and memory is held against.
 *
 * A call (bl, blr) puts the address behind it on the stack, a return (ret) takes it off; jumps, a tail call among them,
 * change nothing. The caller reports every instruction before it runs. */
#ifndef STROBE_EMULATE_SHADOW_H
#define STROBE_EMULATE_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

enum { SHADOW_MAX = 1024 };

/* Zero at first. */
struct shadow {
    uint64_t back[SHADOW_MAX]; /* return addresses, outermost first */
    uint32_t depth;
    uint64_t last_pc; /* the instruction that ran last, and where it is */
    uint32_t last;
    bool broken; /* returned to where nothing was called from, or too deep */
};

/* The instruction `word` at `pc` is about to run. */
static inline void shadow_step(struct shadow *s, uint64_t pc, uint32_t word)
{
    bool call = (s->last & 0xfc000000) == 0x94000000 || (s->last & 0xfefff000) == 0xd63f0000;
    bool back = (s->last & 0xfffffc1f) == 0xd65f0000 || (s->last & 0xfffffbff) == 0xd65f0bff;
    if (call && s->depth == SHADOW_MAX)
        s->broken = true;
    else if (call)
        s->back[s->depth++] = s->last_pc + 4;
    else if (back && (s->depth == 0 || s->back[--s->depth] != pc))
        s->broken = true;
    s->last_pc = pc;
    s->last = word;
}

#endif

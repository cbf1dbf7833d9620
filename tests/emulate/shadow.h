/* The true call stack of emulated arm64 code, updated at its calls and returns. Every way to find a stack from
 * registers and memory is compared with it.
 *
 * A call (bl, blr) pushes the address behind it, a return (ret) pops it. Jumps change nothing, also those of tail
 * calls. The caller reports every instruction before it runs. */
#ifndef STROBE_EMULATE_SHADOW_H
#define STROBE_EMULATE_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

enum { SHADOW_MAX = 1024 };

/* Initially zero. */
struct shadow {
    uint64_t back[SHADOW_MAX]; /* return addresses, outermost first */
    uint32_t depth;
    uint64_t last_pc; /* the instruction that ran last, and where it is */
    uint32_t last;
    bool broken; /* a return without a call, or too deep */
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

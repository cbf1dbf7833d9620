/* Stacks in memory, and the code that frames point into.
 *
 * A thread takes a stack when it starts and returns it when it ends. A returned stack reads as unmapped memory until
 * another thread takes it. Where the system allows, stacks have fixed addresses, so that even stale words on them are
 * the same in every run.
 *
 * Frames have the layout of x86-64 code with frame pointers: the call pushes the return address; the prologue pushes
 * rbp, sets it, and allocates locals. A frameless method does neither and uses the red zone. */
#ifndef STROBE_SIM_RUNTIME_VSTACK_H
#define STROBE_SIM_RUNTIME_VSTACK_H

#include "sim/runtime/vthread.h"

enum {
    SIM_STACK_BYTES = 1 << 20,
    SIM_STACK_SPARE = 4096,     /* a call that would leave less stack than this fails */
    SIM_HOOK_CODE = 0x10000,    /* address of the tracer's hook */
    SIM_WAIT_CODE = 0x20000,    /* addresses of the functions that block, by kind */
    SIM_OWN_CODE_BYTES = 0x100, /* size of the code of each of these */
    SIM_CODE_AFTER_PUSH = 1,    /* of a method: offset of `mov %rsp,%rbp` */
};

/* A method's code, in the form that the player uses. */
struct sim_code {
    uint64_t address;
    uint32_t bytes;
    uint32_t frame_bytes;
    uint32_t site_mask;  /* selects the bits of an operation's number that determine its call site */
    uint32_t name;       /* number in the truth's names */
    uint32_t first, end; /* operations of its body */
    bool managed, frameless;
};

/* Returns the return address of a call made by operation `op` of the method. The call instruction, as long as a direct
 * call, does not overlap the prologue. */
enum { SIM_FIRST_SITE = 16, SIM_SITE_BYTES = 8, SIM_CALL_BYTES = 5 };
static inline uint64_t sim_call_site(const struct sim_code *c, uint32_t op)
{
    return c->address + SIM_FIRST_SITE + ((uint64_t)op * SIM_SITE_BYTES & c->site_mask);
}

/* Returns the mask for a method of `bytes` of code. Call sites stay clear of prologue and epilogue. */
uint32_t sim_site_mask(uint64_t bytes);

/* ---- stacks ---- */

struct sim_stack_block;
struct sim_stacks {
    struct sim_stack_block *blocks;
};

/* Takes a stack for v and sets its stack_low, stack_high, sp and fp. False: out of memory. */
bool sim_stack_take(struct sim_stacks *stacks, struct sim_vthread *v);
void sim_stack_give(struct sim_stacks *stacks, struct sim_vthread *v);

/* Returns the thread whose stack contains the address, or NULL. */
struct sim_vthread *sim_stack_owner(const struct sim_stacks *stacks, uint64_t address);

void sim_stacks_close(struct sim_stacks *stacks);

/* ---- frames ---- */

static inline void sim_stack_word(uint64_t address, uint64_t word)
{
    *(uint64_t *)(uintptr_t)address = word;
}

/* Makes capacity for one more frame. False: out of memory, or the stack has no space for `bytes` more. */
bool sim_frames_grow(struct sim_vthread *v);
static inline bool sim_frame_fits(struct sim_vthread *v, uint32_t bytes)
{
    if (v->sp - (uint64_t)(uintptr_t)v->stack_low < (uint64_t)bytes + SIM_STACK_SPARE)
        return false;
    return v->frame_count < v->frame_room || sim_frames_grow(v);
}

/* Pushes the frame of a method called with return address `site`. It must fit. */
static inline void sim_frame_push(struct sim_vthread *v, uint32_t method, uint64_t site, uint32_t frame_bytes,
                                  bool frameless)
{
    if (v->frame_count)
        v->frames[v->frame_count - 1].call_site = site;
    struct sim_vframe *f = &v->frames[v->frame_count++];
    f->method = method;
    f->sp_before = v->sp;
    f->call_site = 0;
    uint64_t sp = v->sp - 8;
    sim_stack_word(sp, site);
    if (!frameless) {
        sp -= 8;
        sim_stack_word(sp, v->fp);
        v->fp = sp;
        sp -= frame_bytes;
    }
    f->fp = v->fp;
    v->sp = sp;
}

/* Pops the innermost frame, for a return or a throw. */
static inline void sim_frame_pop(struct sim_vthread *v)
{
    v->sp = v->frames[--v->frame_count].sp_before;
    v->fp = 0;
    if (v->frame_count) {
        struct sim_vframe *caller = &v->frames[v->frame_count - 1];
        v->fp = caller->fp;
        caller->call_site = 0;
    }
}

#endif

/* Stacks in memory, and the code that frames point into.
 *
 * A stack is taken when a thread starts and given back when it ends; given back, it reads as unmapped memory until
 * another thread has it. Stacks are address space of a fixed place where the system allows, so that even words left
 * over on them are the same in every run.
 *
 * Frames are laid as code of x86-64 with frame pointers lays them: the call pushes its return address, the prologue
 * pushes rbp, sets it, and makes room for locals. A frameless method does neither and uses the red zone. */
#ifndef STROBE_SIM_RUNTIME_VSTACK_H
#define STROBE_SIM_RUNTIME_VSTACK_H

#include "sim/runtime/vthread.h"

enum {
    SIM_STACK_BYTES = 1 << 20,
    SIM_STACK_SPARE = 4096,     /* below this much a call is one too many */
    SIM_HOOK_CODE = 0x10000,    /* where the tracer's hook stands */
    SIM_WAIT_CODE = 0x20000,    /* where the functions that block stand, by kind */
    SIM_OWN_CODE_BYTES = 0x100, /* of each of these */
    SIM_CODE_AFTER_PUSH = 1,    /* of a method: offset of `mov %rsp,%rbp` */
};

/* A method's code, as the player needs it at hand. */
struct sim_code {
    uint64_t address;
    uint32_t bytes;
    uint32_t frame_bytes;
    uint32_t site_mask;  /* which bits of an operation's place tell its call site in the code */
    uint32_t name;       /* in the truth */
    uint32_t first, end; /* operations of its body */
    bool managed, frameless;
};

/* The return address of a call made by operation `op` of the method. The call instruction itself, as long as a direct
 * one, lies clear of the prologue. */
enum { SIM_FIRST_SITE = 16, SIM_SITE_BYTES = 8, SIM_CALL_BYTES = 5 };
static inline uint64_t sim_call_site(const struct sim_code *c, uint32_t op)
{
    return c->address + SIM_FIRST_SITE + ((uint64_t)op * SIM_SITE_BYTES & c->site_mask);
}

/* The mask for a method of `bytes` of code: call sites stay clear of prologue and epilogue. */
uint32_t sim_site_mask(uint64_t bytes);

/* ---- stacks ---- */

struct sim_stack_block;
struct sim_stacks {
    struct sim_stack_block *blocks;
};

/* A stack for v, whose stack_low, stack_high, sp and fp are set. False: no memory. */
bool sim_stack_take(struct sim_stacks *stacks, struct sim_vthread *v);
void sim_stack_give(struct sim_stacks *stacks, struct sim_vthread *v);

/* The thread whose stack holds the address, or NULL. */
struct sim_vthread *sim_stack_owner(const struct sim_stacks *stacks, uint64_t address);

void sim_stacks_close(struct sim_stacks *stacks);

/* ---- frames ---- */

static inline void sim_stack_word(uint64_t address, uint64_t word)
{
    *(uint64_t *)(uintptr_t)address = word;
}

/* Makes room for one more frame; false: out of memory, or of stack for `bytes` more. */
bool sim_frames_grow(struct sim_vthread *v);
static inline bool sim_frame_fits(struct sim_vthread *v, uint32_t bytes)
{
    if (v->sp - (uint64_t)(uintptr_t)v->stack_low < (uint64_t)bytes + SIM_STACK_SPARE)
        return false;
    return v->frame_count < v->frame_room || sim_frames_grow(v);
}

/* Lays the frame of a method called with return address `site`; it must fit. */
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

/* Takes the innermost frame away, by return or by a throw alike. */
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

/* A thread of the simulated app as its runtime sees it: registers, a stack in memory with frames laid on it as the
 * ABI lays them, and beside it the path of methods, which a managed runtime would tell.
 *
 *   high  ->  +--------------------+
 *             | 0, 0               |  the outermost frame record (root)
 *             | locals of f        |
 *             | return address in f|
 *   fp of g-> | fp of f            |  frame record of g
 *             | locals of g        |
 *   sp    ->  +--------------------+
 *
 * Addresses of code are those of the scenario's images. Addresses of stack memory are the host's own, so that the
 * engine walks it as it would any other; nothing that is recorded depends on them. The ABI is that of x86-64 with
 * frame pointers on every machine, so that runs are the same everywhere.
 *
 * A call that blocks lies in two more frames while it lasts: the tracer's hook, if anybody listens, and in it the
 * function that blocks, one for each kind. Both have code of their own below all images. */
#ifndef STROBE_SIM_RUNTIME_VTHREAD_H
#define STROBE_SIM_RUNTIME_VTHREAD_H

#include "engine/store/record.h"
#include "sim/app/scenario.h"
#include "sim/kernel/kernel.h"

struct sim_vframe {
    uint32_t method;    /* in the scenario; SIM_HOOK_METHOD for the tracer's own, sim_wait_method for a wait */
    uint64_t fp;        /* address of its frame record, or of its caller's when it is frameless */
    uint64_t sp_before; /* sp when its caller called */
    uint64_t call_site; /* return address in it, of the call it is making; 0 = it makes none */
};
#define SIM_HOOK_METHOD UINT32_MAX

/* The function that blocks in a call of some kind, as a method's number; and back: NONE when the number is none of
 * those. */
static inline uint32_t sim_wait_method(enum strobe_kind kind)
{
    return SIM_HOOK_METHOD - (uint32_t)kind;
}

static inline enum strobe_kind sim_wait_kind(uint32_t method)
{
    uint32_t kind = SIM_HOOK_METHOD - method;
    return kind < STROBE_KIND_COUNT ? (enum strobe_kind)kind : STROBE_KIND_NONE;
}

/* The truth of a thread is that of its own code: not of what the system and the tracer do before and after it. */
enum sim_life { SIM_LIFE_BEFORE, SIM_LIFE_IN_CODE, SIM_LIFE_AFTER };

struct sim_vthread {
    struct sim_thread *thread; /* of the kernel */
    enum sim_life life;
    uint64_t cpu_ns;          /* before its own code; from the end of that on: in its own code */
    int core;                 /* that it is on; -1 = none */
    uint32_t track;           /* in the truth */
    uint32_t spec;            /* in the scenario */
    uint32_t tid, generation; /* together unique; generation counts from 1 per tid */
    bool is_main;
    uint8_t *stack_low, *stack_high;
    uint64_t sp, fp;
    struct sim_vframe *frames; /* outermost first */
    uint32_t frame_count, frame_room;
    uint32_t op;            /* operation under way, in the scenario */
    bool fresh;             /* nothing of the innermost method has run: a stop soon finds it in its prologue */
    bool ends_with_compute; /* the compute under way is the last thing the innermost method does */
    uint32_t message;       /* id of the message it is busy with; 0 = none */
    uint64_t allocations, alloc_bytes;
    uint64_t tracer_ns;                    /* CPU charged to it by the tracer */
    const struct sim_span_cost *wait_cost; /* what the tracer adds to each wait in the kernel, by its length; its to
                                            * set; NULL = nothing */
    uint64_t owes_ns;                      /* what a stop has cost it, charged when it next does something */
    enum strobe_kind waits;                /* blocking call it is in; NONE */
    bool shared;                           /* ... as a reader, which other readers don't let go on */
    bool ended;                            /* of itself, or killed */
    void *tracer;                          /* the tracer's own */
    struct sim_player *player;
};

#endif

/* A thread of the simulated app as the runtime sees it: registers, a stack in memory with frames of the ABI's layout,
 * and the path of methods, which a managed runtime would know.
 *
 *   high  ->  +--------------------+
 *             | 0, 0               |  the outermost frame record (root)
 *             | locals of f        |
 *             | return address in f|
 *   fp of g-> | fp of f            |  frame record of g
 *             | locals of g        |
 *   sp    ->  +--------------------+
 *
 * Code addresses are those of the scenario's images. Stack addresses are the host's own, so that the engine walks the
 * stack like any other; nothing recorded depends on them. On every machine the ABI is that of x86-64 with frame
 * pointers, so that runs are the same everywhere.
 *
 * A blocking call has two more frames: the tracer's hook, if there is a tracer, and inside it the function that blocks,
 * one per kind. Both have code below all images. */
#ifndef STROBE_SIM_RUNTIME_VTHREAD_H
#define STROBE_SIM_RUNTIME_VTHREAD_H

#include "engine/store/record.h"
#include "sim/app/scenario.h"
#include "sim/kernel/kernel.h"

struct sim_vframe {
    uint32_t method;    /* number in the scenario; SIM_HOOK_METHOD for the tracer's hook, sim_wait_method for a wait */
    uint64_t fp;        /* address of its frame record; of its caller's when it is frameless */
    uint64_t sp_before; /* sp before the call */
    uint64_t call_site; /* return address of the call that it is making; 0: it makes no call */
};
#define SIM_HOOK_METHOD UINT32_MAX

/* Convert between a kind of blocking call and the number of the function that blocks. NONE: the number is no such
 * function. */
static inline uint32_t sim_wait_method(enum strobe_kind kind)
{
    return SIM_HOOK_METHOD - (uint32_t)kind;
}

static inline enum strobe_kind sim_wait_kind(uint32_t method)
{
    uint32_t kind = SIM_HOOK_METHOD - method;
    return kind < STROBE_KIND_COUNT ? (enum strobe_kind)kind : STROBE_KIND_NONE;
}

/* The truth of a thread covers its own code only, not the work of the system and the tracer before and after it. */
enum sim_life { SIM_LIFE_BEFORE, SIM_LIFE_IN_CODE, SIM_LIFE_AFTER };

struct sim_vthread {
    struct sim_thread *thread; /* the kernel's thread */
    enum sim_life life;
    uint64_t cpu_ns;          /* BEFORE, IN_CODE: CPU time before its own code; AFTER: CPU time in its own code */
    int core;                 /* core that it is on; -1: none */
    uint32_t track;           /* number in the truth */
    uint32_t spec;            /* number in the scenario */
    uint32_t tid, generation; /* unique together; generation counts from 1 per tid */
    bool is_main;
    uint8_t *stack_low, *stack_high;
    uint64_t sp, fp;
    struct sim_vframe *frames; /* outermost first */
    uint32_t frame_count, frame_room;
    uint32_t op;            /* number of the current operation in the scenario */
    bool fresh;             /* the innermost method has not run yet: a stop soon finds it in its prologue */
    bool ends_with_compute; /* the current compute is the last action of the innermost method */
    uint32_t message;       /* id of the current message; 0: none */
    uint64_t allocations, alloc_bytes;
    uint64_t tracer_ns;                    /* CPU charged to it by the tracer */
    const struct sim_span_cost *wait_cost; /* set by the tracer: its addition to each wait in the kernel, by the wait's
                                              length; NULL: nothing */
    double wait_cost_part;                 /* this part of it */
    uint64_t owes_ns;                      /* cost of stops, charged at the thread's next action */
    enum strobe_kind waits;                /* current blocking call; NONE */
    bool shared;                           /* it waits as a reader, which the release of another reader does not end */
    bool ended;                            /* by itself or killed */
    void *tracer;                          /* private to the tracer */
    struct sim_player *player;
};

#endif

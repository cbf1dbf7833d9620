/* What listens at the hooks of the simulated app: the seam between the runtime and a capture policy.
 *
 * The runtime calls these on the virtual thread they are about, at the virtual time they happen, with the frame of
 * the hook laid as the innermost: its record is at v->fp. What a call costs the app is charged by the tracer through
 * sim_charge (and added to v->tracer_ns by sim_tracer_charge); a sampler is a daemon thread that the tracer starts.
 * Any pointer may be NULL but close and claims. */
#ifndef STROBE_SIM_RUNTIME_TRACER_H
#define STROBE_SIM_RUNTIME_TRACER_H

#include "engine/base/error.h"
#include "engine/capture/blocking.h"
#include "sim/runtime/costs.h"
#include "sim/runtime/vthread.h"
#include "sim/score/view.h"

/* What a scope waits for and a release lets go: the class of the thing in the high half, and in the low half its number
 * in the scenario; of a thread its serial in the kernel, of a message queue the queue's number, of a collection which
 * one it is. THREAD is the end of a thread, PARK its permit to go on, GC the end of a collection. 0 = nothing anybody
 * could release (devices, sleeps). */
enum sim_what {
    SIM_WHAT_NOTHING,
    SIM_WHAT_LOCK,
    SIM_WHAT_COND,
    SIM_WHAT_SEM,
    SIM_WHAT_QUEUE,
    SIM_WHAT_THREAD,
    SIM_WHAT_PARK,
    SIM_WHAT_GC,
};

static inline uint64_t sim_what(enum sim_what class, uint32_t number)
{
    return (uint64_t) class << 32 | number;
}

static inline enum sim_what sim_what_class(uint64_t what)
{
    return (enum sim_what)(what >> 32);
}

#define SIM_SAMPLER_TID UINT32_C(0xfffffff0) /* of a policy's own thread, so that the app's have the same under all */

struct sim_run; /* sim/runtime/run.h: kernel, scenario, threads alive, faults */

/* A message that a loop has taken. */
struct sim_loop_message {
    uint32_t id;            /* of the thread's messages, from 1 */
    uint32_t queue, method; /* numbers in the scenario */
    uint64_t due_ns;        /* when it was to run; of a frame the vsync that it was meant for */
    bool is_frame;
};

struct sim_tracer {
    /* Before the first thread; may start daemon threads. */
    enum strobe_status (*start)(struct sim_tracer *, struct sim_run *);

    void (*thread_begin)(struct sim_tracer *, struct sim_vthread *);
    void (*thread_end)(struct sim_tracer *, struct sim_vthread *);

    /* An event at an instant: ALLOC (arg bytes), FREE, CLOCK, JNI (arg the number of the native method about to be
     * called), CLOSE, ... */
    void (*point)(struct sim_tracer *, struct sim_vthread *, enum strobe_kind, uint64_t arg);

    /* A call that may block begins, and ends; calls nest. Of mutexes and monitors, with tries_locks_first only calls
     * that found the lock taken: a hook that tries before it waits pays for no scope where nobody waits. `what` is the
     * identity of what is waited for, or 0. Returns a token for the end. */
    uint32_t (*scope_begin)(struct sim_tracer *, struct sim_vthread *, enum strobe_kind, uint64_t what);
    void (*scope_end)(struct sim_tracer *, struct sim_vthread *, uint32_t token, enum strobe_kind, uint64_t what,
                      enum strobe_wake how);

    /* Right before a lock is released, a condition notified, a thread unparked, a message posted: `what` as the waiters
     * know it. */
    void (*release)(struct sim_tracer *, struct sim_vthread *, uint64_t what, enum strobe_release how);

    /* A message loop takes the next message, or goes idle; inside a POLL scope's end. */
    void (*message)(struct sim_tracer *, struct sim_vthread *, uint32_t id);

    /* Instrumented methods: one was entered, is about to be left, is about to throw; told inside of the method, its
     * frame the innermost. Who leaves a method by an exception, or by the thread's end, passes no exit: nothing tells
     * of it but the throw where it came from, in the method that threw. Every method tells; which have probes is the
     * tracer's to know, and the others cost nothing. */
    void (*method_in)(struct sim_tracer *, struct sim_vthread *, uint32_t method);
    void (*method_out)(struct sim_tracer *, struct sim_vthread *, uint32_t method);
    void (*method_throw)(struct sim_tracer *, struct sim_vthread *, uint32_t method);

    /* A message loop has taken a message, which it is about to run; and it has run, so that the loop goes on. A message
     * left by an exception or by the thread's end has no end. */
    void (*message_begin)(struct sim_tracer *, struct sim_vthread *, const struct sim_loop_message *);
    void (*message_end)(struct sim_tracer *, struct sim_vthread *, uint32_t id);

    /* After the run (the kernel has ended, its threads are still there): what was captured, as claims. `error` gets
     * one line on failure. */
    enum strobe_status (*reconstruct)(struct sim_tracer *, struct sim_run *, struct sim_tracks *out,
                                      struct strobe_error *error);

    /* Writes what the policy leaves behind (session, trace) into the folder; NULL for those that leave nothing. After
     * claims. */
    enum strobe_status (*save)(struct sim_tracer *, struct sim_run *, const char *folder, struct strobe_error *error);

    /* Checks what the policy promises of itself (accounting identities, suspends = resumes); false with `error`. After
     * claims. May be NULL. */
    bool (*check)(struct sim_tracer *, struct sim_run *, struct strobe_error *error);

    void (*close)(struct sim_tracer *);

    bool hears_posts;       /* a post that calls a looper is a scope to it, of kind WRITE */
    bool tries_locks_first; /* a mutex that is free is no scope to it but a point: see there */
    const char *policy;
    uint64_t interval_main_ns, interval_other_ns; /* what the score takes for its interval */
    struct sim_thread *sampler;                   /* its daemon thread, NULL = none */
    struct sim_view view;                         /* what it can tell at all; filled in by claims, its own */
};

static inline void sim_tracer_charge(struct sim_vthread *v, uint64_t ns)
{
    v->tracer_ns += ns;
    sim_charge(ns);
}

#endif

/* The interface between the runtime and a capture policy: the callbacks at the hooks of the simulated app.
 *
 * The runtime calls them on the virtual thread concerned, at the virtual time of the event. The hook's frame is then
 * the innermost one, and its frame record is at v->fp. The tracer charges its cost to the app with sim_tracer_charge,
 * which calls sim_charge and adds to v->tracer_ns. A sampler is a daemon thread that the tracer starts. Any pointer may
 * be NULL except `close` and `reconstruct`. */
#ifndef STROBE_SIM_RUNTIME_TRACER_H
#define STROBE_SIM_RUNTIME_TRACER_H

#include "engine/base/error.h"
#include "engine/capture/blocking.h"
#include "sim/runtime/costs.h"
#include "sim/runtime/vthread.h"
#include "sim/score/view.h"

/* Identity of an object that a scope waits for and a release signals. The high half is the class. The low half is the
 * object's number in the scenario; for a thread its serial in the kernel, for a message queue the queue's number, for a
 * collection its number. THREAD is the end of a thread, PARK its permit, GC the end of a collection. 0: no thread can
 * end the wait (devices, sleeps). */
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

/* tid of a policy's own thread, the same under all policies; no thread of the app has it */
#define SIM_SAMPLER_TID UINT32_C(0xfffffff0)

struct sim_run; /* sim/runtime/run.h: kernel, scenario, threads alive, faults */

/* A message that a loop has taken. */
struct sim_loop_message {
    uint32_t id;            /* number of the message in its thread, from 1 */
    uint32_t queue, method; /* numbers in the scenario */
    uint64_t due_ns;        /* when the message was due; for a frame: its vsync */
    bool is_frame;
};

struct sim_tracer {
    /* Called before the first thread starts. May start daemon threads. */
    enum strobe_status (*start)(struct sim_tracer *, struct sim_run *);

    void (*thread_begin)(struct sim_tracer *, struct sim_vthread *);
    void (*thread_end)(struct sim_tracer *, struct sim_vthread *);

    /* A point event: ALLOC (arg: bytes), FREE, CLOCK, JNI (arg: number of the native method about to be called), CLOSE,
     * ... */
    void (*point)(struct sim_tracer *, struct sim_vthread *, enum strobe_kind, uint64_t arg);

    /* Begin and end of a call that may block; calls nest. With tries_locks_first, the hook of a mutex or monitor tries
     * the lock first. It opens a scope only when the lock is not free, so a lock without contention has no cost of a
     * scope. `what`: identity of the object, or 0. scope_begin returns a token for the end. */
    uint32_t (*scope_begin)(struct sim_tracer *, struct sim_vthread *, enum strobe_kind, uint64_t what);
    void (*scope_end)(struct sim_tracer *, struct sim_vthread *, uint32_t token, enum strobe_kind, uint64_t what,
                      enum strobe_wake how);

    /* Called right before a lock is released, a condition notified, a thread unparked or a message posted. `what` is
     * the identity that the waiters use. */
    void (*release)(struct sim_tracer *, struct sim_vthread *, uint64_t what, enum strobe_release how);

    /* A message loop takes the next message, or becomes idle. Called inside the end of a POLL scope. */
    void (*message)(struct sim_tracer *, struct sim_vthread *, uint32_t id);

    /* Instrumented methods: enter, before the return, before a throw. Called inside the method, with its frame
     * innermost. A method that an exception or the thread's end unwinds has no exit; the throw is reported in the
     * method that threw. Every method is reported: the tracer knows which methods have probes, and reports from the
     * others cost nothing. */
    void (*method_in)(struct sim_tracer *, struct sim_vthread *, uint32_t method);
    void (*method_out)(struct sim_tracer *, struct sim_vthread *, uint32_t method);
    void (*method_throw)(struct sim_tracer *, struct sim_vthread *, uint32_t method);

    /* message_begin: a message loop is about to run a message. message_end: the message has run. A message that an
     * exception or the thread's end unwinds has no end. */
    void (*message_begin)(struct sim_tracer *, struct sim_vthread *, const struct sim_loop_message *);
    void (*message_end)(struct sim_tracer *, struct sim_vthread *, uint32_t id);

    /* Called when a run of the fair schedule has ended at its limit. The tracer may let the threads go on
     * (sim_kernel_go_on), as the real one waits at its end until all threads have left its hooks. What they do then is
     * not in the truth, and no time is charged. May be NULL. */
    void (*settle)(struct sim_tracer *, struct sim_run *);

    /* Called after the run (the kernel has ended, its threads still exist). Appends the timeline reconstructed from the
     * capture to *out. On failure `error` gets one line. */
    enum strobe_status (*reconstruct)(struct sim_tracer *, struct sim_run *, struct sim_tracks *out,
                                      struct strobe_error *error);

    /* Writes the policy's files (session, trace) into the folder. NULL for policies without files. Called after
     * `reconstruct`. */
    enum strobe_status (*save)(struct sim_tracer *, struct sim_run *, const char *folder, struct strobe_error *error);

    /* Checks the policy's own invariants (accounting identities, suspends = resumes). False with `error`. Called after
     * `reconstruct`. May be NULL. */
    bool (*check)(struct sim_tracer *, struct sim_run *, struct strobe_error *error);

    void (*close)(struct sim_tracer *);

    bool posts_are_scopes;  /* the tracer's hooks open a scope of kind WRITE around a post that wakes a looper */
    bool tries_locks_first; /* a free mutex is a point instead of a scope for it; see scope_begin */
    const char *policy;
    uint64_t interval_main_ns, interval_other_ns; /* the interval used by the score */
    struct sim_thread *sampler;                   /* its daemon thread, NULL: none */
    struct sim_view view;                         /* what the policy can record; `reconstruct` fills it in; owned by the
                                                     tracer */
};

static inline void sim_tracer_charge(struct sim_vthread *v, uint64_t ns)
{
    v->tracer_ns += ns;
    sim_charge(ns);
}

#endif

/* The parts of the strobe policy: the real engine over a host made of the virtual kernel.
 *
 *   strobe.c          the session, the tracer's calls, what they cost
 *   strobe_host.c     the engine's view of the machine, with the faults it can meet there
 *   strobe_unwind.c   unwinding by tables
 *   strobe_reconstruct.c  from the session to claims and files
 *
 * For sim/policy only. */
#ifndef STROBE_SIM_POLICY_STROBE_H
#define STROBE_SIM_POLICY_STROBE_H

#include "engine/base/error.h"
#include "engine/capture/sampler.h"
#include "engine/trace/session/reader.h"
#include "sim/policy/policy.h"

/* The engine's clock and that of the trace, at the begin of the run: not 0, which the engine takes for "never". */
#define SIM_STROBE_ORIGIN_NS ((uint64_t)1000000000)

/* What the policy keeps of a thread. */
struct sim_traced {
    struct sim_traced *next;
    struct sim_strobe *strobe;
    struct sim_vthread *v;
    bool stands;                           /* it was let go, but has not heard of it */
    uint64_t period_ns;                    /* of its CPU clock; 0 = does not tick */
    struct strobe_thread *thread;          /* NULL: the engine has no room for it */
    uint64_t owed_ps;                      /* cost not charged yet: less than 1 ns */
    uint64_t wait_began_ns, wait_switches; /* of the call under way, as its hook was left */
    uint64_t wait_charged_ps;              /* ... and what that hook cost */
    uint32_t samples;                      /* of its own, when looked at last */
    uint32_t depth;
    uint64_t address[STROBE_STACK_DEPTH_MAX]; /* its stack then */
};

/* Costs in ps: their sums are exact and the same everywhere. */
struct sim_strobe_costs {
    uint64_t hook, clock, thread_clock, usage, scope, sample, frame, frame_known, release, look, suspend,
        suspend_target, tick, tick_sample, copy, copy_kib, resume, unwind_frame, stop_far, stop_far_target, resume_far,
        sampler_wake, sampler_wake_soon, attach, detach, clock_start, clock_end;
};

struct sim_strobe {
    struct sim_tracer tracer;
    struct sim_run *run;
    struct strobe_config config;
    struct strobe_session session;
    struct strobe_engine engine;
    struct strobe_host host;
    struct sim_strobe_costs costs;
    struct sim_traced *live, *spare; /* of threads that there are, and were */
    void *memory;
    size_t memory_bytes;
    struct strobe_sampler *sampler;
    struct sim_thread *sampler_thread;
    uint64_t sampler_owed_ps;
    char path[STROBE_PATH_BYTES]; /* where the session can be read */
    struct strobe_reader *reader; /* from claims on */
    uint64_t interval_ns;         /* of a policy that only samples; 0 = hooks are heard */
    bool no_sampler;
    bool no_ticks; /* CPU clocks do not tick: threads are stopped from outside */
    /* the host's */
    int64_t clock_offset_ns;    /* by jumps of the clock */
    struct sim_vthread *held;   /* the thread that is stopped */
    struct sim_vthread *doomed; /* the thread that ends while it is being stopped */
    uint32_t asked_tid;         /* the thread that is being stopped; 0 = none */
    uint64_t held_since_ns;
    uint32_t standing;      /* threads that stand although they were let go */
    bool held_far;          /* the thread that is stopped, or asked to, was on another processor */
    bool watched;           /* a watchdog's timer is under way */
    bool to_unwind;         /* a stack was copied whose frames are not charged yet */
    uint32_t asked_cpu_tid; /* whose CPU clock was read last, and what it said */
    uint64_t asked_cpu_ns;
};

/* Charges the running thread. Fiber. */
void sim_strobe_charge(struct sim_strobe *s, uint64_t ps);

/* Unwinding by tables for the code of a run. One run at a time. */
const struct strobe_unwinder *sim_strobe_unwinder_tables(const struct sim_run *run);

/* Fills in s->host. */
void sim_strobe_host(struct sim_strobe *s);

/* The engine's ticks at a time of the kernel. */
static inline uint64_t sim_strobe_ticks(const struct sim_strobe *s, uint64_t now_ns)
{
    return now_ns + SIM_STROBE_ORIGIN_NS + (uint64_t)s->clock_offset_ns;
}

enum strobe_status sim_strobe_reconstruct(struct sim_tracer *t, struct sim_run *run, struct sim_tracks *out,
                                          struct strobe_error *error);

/* After claims: builds the session's timeline once more, into another sink, which frees itself. */
enum strobe_status sim_strobe_build(const struct sim_strobe *s, struct strobe_sink *sink);

enum strobe_status sim_strobe_save(struct sim_tracer *t, struct sim_run *run, const char *folder,
                                   struct strobe_error *error);
bool sim_strobe_check(struct sim_tracer *t, struct sim_run *run, struct strobe_error *error);

#endif

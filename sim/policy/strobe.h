/* The parts of the strobe policy: the real engine over a host made of the virtual kernel.
 *
 *   strobe.c              the session, the tracer's calls and their costs
 *   strobe_host.c         the engine's view of the machine, with the faults injected there
 *   strobe_unwind.c       unwinding by tables
 *   strobe_reconstruct.c  from the session to tracks and files
 *
 * For sim/policy only. */
#ifndef STROBE_SIM_POLICY_STROBE_H
#define STROBE_SIM_POLICY_STROBE_H

#include "engine/base/error.h"
#include "engine/capture/sampler.h"
#include "engine/trace/session/reader.h"
#include "sim/policy/policy.h"

/* Time of the engine's clock and of the trace at the begin of the run. Not 0, because 0 means "never" to the engine. */
#define SIM_STROBE_ORIGIN_NS ((uint64_t)1000000000)

/* The policy's data of a thread. */
struct sim_traced {
    struct sim_traced *next;
    struct sim_strobe *strobe;
    struct sim_vthread *v;
    bool stands;                           /* it was resumed, but the resume got lost */
    uint64_t period_ns;                    /* of its CPU clock; 0: no ticks */
    struct strobe_thread *thread;          /* NULL: the engine has no capacity for it */
    uint64_t owed_ps;                      /* cost not charged yet: less than 1 ns */
    uint64_t wait_began_ns, wait_switches; /* of the current call, when its first hook ended */
    uint64_t wait_charged_ps;              /* ... and the cost of that hook */
    uint32_t samples;                      /* number of its samples at the last check */
    uint32_t depth;
    uint64_t address[STROBE_STACK_DEPTH_MAX]; /* its stack at the last check */
};

/* Costs in ps: their sums are exact and the same on every machine. */
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
    struct sim_traced *live, *spare; /* of live threads; of ended threads, for reuse */
    void *memory;
    size_t memory_bytes;
    struct strobe_sampler *sampler;
    struct sim_thread *sampler_thread;
    uint64_t sampler_owed_ps;
    char path[STROBE_PATH_BYTES]; /* path of a readable session */
    struct strobe_reader *reader; /* set by sim_strobe_reconstruct */
    uint64_t interval_ns;         /* of a policy that only samples; 0: hooks report events */
    bool no_sampler;
    bool no_ticks; /* CPU clocks do not tick: threads are stopped from outside */
    /* state of the host */
    int64_t clock_offset_ns;    /* sum of injected jumps of the clock */
    struct sim_vthread *held;   /* the thread that is stopped */
    struct sim_vthread *doomed; /* the thread that ends while the sampler stops it */
    uint32_t asked_tid;         /* the thread that the sampler is stopping; 0: none */
    uint64_t held_since_ns;
    uint32_t standing;      /* number of threads that stand although they were resumed */
    bool held_far;          /* the stopped thread, or the one being stopped, was on another core */
    bool watched;           /* a watchdog's timer is running */
    bool to_unwind;         /* a stack was copied, and its frames are not charged yet */
    uint32_t asked_cpu_tid; /* thread whose CPU clock was read last, and the value */
    uint64_t asked_cpu_ns;
};

/* Charges the running thread. Fiber. */
void sim_strobe_charge(struct sim_strobe *s, uint64_t ps);

/* Returns the unwinder by tables for the code of a run. One run at a time. */
const struct strobe_unwinder *sim_strobe_unwinder_tables(const struct sim_run *run);

/* Fills in s->host. */
void sim_strobe_host(struct sim_strobe *s);

/* Returns the engine's ticks at a time of the kernel. */
static inline uint64_t sim_strobe_ticks(const struct sim_strobe *s, uint64_t now_ns)
{
    return now_ns + SIM_STROBE_ORIGIN_NS + (uint64_t)s->clock_offset_ns;
}

enum strobe_status sim_strobe_reconstruct(struct sim_tracer *t, struct sim_run *run, struct sim_tracks *out,
                                          struct strobe_error *error);

/* Builds the session's timeline once more, into another sink, which frees itself. Call after `reconstruct`. */
enum strobe_status sim_strobe_build(const struct sim_strobe *s, struct strobe_sink *sink);

enum strobe_status sim_strobe_save(struct sim_tracer *t, struct sim_run *run, const char *folder,
                                   struct strobe_error *error);
bool sim_strobe_check(struct sim_tracer *t, struct sim_run *run, struct strobe_error *error);

#endif

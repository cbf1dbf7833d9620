/* The CPU time of a thread at the begin and at the end of its calls, with few readings of its CPU clock.
 *
 * A reading is a system call, which costs as much as all other work for a recorded call. The time at one of these
 * instants therefore follows from the time at the one before, as long as the sum of the possible errors since the last
 * reading is at most STROBE_CALL_CPU_DOUBT_NS:
 *
 *   from the end of a call to the begin of the next   the thread has run. The possible error is all of that time, or a
 *                                                     quarter of it when the last such time before a reading was spent
 *                                                     on the processor. A time longer than STROBE_CALL_CPU_DOUBT_NS
 *                                                     ends with a reading in any case
 *   from the begin of a call to its end               the thread has used as much as its calls of that kind did lately.
 *                                                     The possible error is STROBE_WAIT_USES_NS for a call that only
 *                                                     waits, a quarter of the call for a kind of call in which the
 *                                                     thread has mostly slept, and all of the call for other kinds
 *
 * Otherwise the clock is read, as at the end of the first call of a kind. The error is smaller than the shortest time
 * off the processor that a timeline shows, so a thread that uses no CPU time is not shown as computing for longer than
 * that. The error is larger when a thread that has kept its processor begins to lose it: until the next reading, by at
 * most STROBE_CALL_CPU_DOUBT_NS for each time between calls. Where CPU clocks tick, nothing follows: ticks are compared
 * with exact readings.
 *
 * The state belongs to its thread. The functions are async-signal-safe (explored: sample/interrupted). */
#ifndef STROBE_CAPTURE_CALL_CPU_H
#define STROBE_CAPTURE_CALL_CPU_H

#include "engine/capture/engine.h"

enum {
    STROBE_CALL_CPU_DOUBT_NS = STROBE_OFF_PROCESSOR_NS,
    STROBE_WAIT_USES_NS = 20000, /* most CPU time of a call that only waits */
};

/* Returns true for a call in which a thread only waits: it uses CPU time to begin the wait and to end it. */
static inline bool strobe_call_only_waits(uint32_t kind)
{
    const uint32_t only_waits = 1 << STROBE_KIND_MUTEX | 1 << STROBE_KIND_RWLOCK | 1 << STROBE_KIND_COND |
                                1 << STROBE_KIND_SEM | 1 << STROBE_KIND_SLEEP | 1 << STROBE_KIND_MONITOR |
                                1 << STROBE_KIND_PARK;
    return only_waits >> kind & 1;
}

/* Zero it for a new thread. */
struct strobe_call_cpu {
    uint64_t ticks, cpu_ns;            /* the last instant at which the CPU time is known; ticks 0: there is none */
    uint64_t ran_ns;                   /* from that instant to the begin of a call that needs a reading; else 0 */
    uint64_t doubt_ns;                 /* since the last reading: possible errors, */
    uint64_t in_calls_ns, used_ns;     /* time in calls, the CPU time in it that followed, */
    uint32_t calls;                    /* and calls */
    strobe_a32 resting_kinds;          /* bit k: in the last calls of kind k, the thread has mostly slept; read by the
                                          sampler */
    bool keeps_processor;              /* the thread was on its processor between the last call and the last reading */
    uint32_t use_ns[STROBE_KIND_ROOM]; /* CPU time of a call of each kind, lately */
};

/* Returns true for a call in which the thread waits, as far as its last calls of that kind show. Any thread. */
static inline bool strobe_call_waits(const struct strobe_call_cpu *c, uint32_t kind)
{
    return strobe_call_only_waits(kind) || strobe_load_relaxed(&c->resting_kinds) >> kind & 1;
}

/* A call begins. Returns true and stores the CPU time in *cpu_ns when it follows. Otherwise the caller reads the clock
 * and calls strobe_call_cpu_read. */
bool strobe_call_cpu_begins(struct strobe_call_cpu *c, const struct strobe_host *host, uint64_t now, uint64_t *cpu_ns);

/* Does the same at the end of a call whose CPU time at the begin is known. */
bool strobe_call_cpu_ends(struct strobe_call_cpu *c, const struct strobe_host *host, uint32_t kind, uint64_t now,
                          uint64_t *cpu_ns);

/* Stores a reading of the clock. `kind`: of the call for which strobe_call_cpu_ends returned false, or
 * STROBE_KIND_NONE. */
void strobe_call_cpu_read(struct strobe_call_cpu *c, uint32_t kind, uint64_t now, uint64_t cpu_ns);

#endif

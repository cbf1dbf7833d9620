/* A capture engine over a simulated host: the test sets its time, stacks and stops. One rig at a time; asserts by
 * CMocka. */
#ifndef STROBE_UNIT_SUPPORT_CAPTURE_RIG_H
#define STROBE_UNIT_SUPPORT_CAPTURE_RIG_H

#include "engine/capture/sample.h"
#include "engine/capture/sampler.h"
#include "tests/support/temporary.h"

enum { RIG_STACK_WORDS = 512 };

struct rig {
    struct strobe_engine engine;
    struct strobe_host host;
    struct strobe_thread *thread; /* the calling thread, registered as main */
    char path[TEMPORARY_BYTES];
    void *memory;

    uint64_t now; /* ns, the value of ticks(); each read adds tick_cost */
    uint64_t tick_cost, clock_reads;
    uint64_t cpu_ns;        /* of the calling thread */
    uint64_t thread_cpu_ns; /* of each other thread; each read adds cpu_cost */
    uint64_t cpu_cost;
    enum strobe_status clock_says; /* status of reads of another thread's CPU time */
    struct strobe_usage usage;

    uint64_t frames[STROBE_STACK_DEPTH_MAX]; /* the stack that the unwinder finds, outermost first */
    uint32_t frame_count;
    enum strobe_walk_end walk_end;

    enum strobe_status suspend_says, resume_says;
    void (*on_suspend)(struct rig *); /* called during a request to suspend */
    uint32_t suspends, resumes, reads, settles;
    uint64_t stack[RIG_STACK_WORDS]; /* memory of the stopped thread, at address (uintptr_t)stack */
    struct strobe_regs regs;         /* its registers; by default they point to the begin of that memory */
};

/* Returns the default config of a rig: 1 ms intervals, no skipping, no metrics that need a system call. A test may
 * change it. */
struct strobe_config rig_config(void);

void rig_start(struct rig *r, const struct strobe_config *config);
void rig_stop(struct rig *r);

/* Starts a rig with the default config, and a sampler over it. rig_stop_sampled asserts that the account is balanced
 * and that each suspended thread was resumed, and stops the rig. */
void rig_start_sampled(struct rig *r, struct strobe_sampler *s);
void rig_stop_sampled(struct rig *r);

/* Makes one pass, `after_ns` later, in which the other threads have used `cpu_ns` of CPU time. */
void rig_pass(struct rig *r, struct strobe_sampler *s, uint64_t after_ns, uint64_t cpu_ns);

/* Sets the stack that the unwinder finds from now on. */
void rig_stack(struct rig *r, uint32_t count, uint64_t leaf);

/* Reports one event at the rig's time. */
void rig_point(struct rig *r, enum strobe_kind kind);

/* A copy of the calling thread's account of a kind. */
struct rig_account {
    uint64_t requests, sampled, gated, paused, reentrant, unwind_failed, dropped;
};
struct rig_account rig_account(const struct rig *r, enum strobe_kind kind);

/* Asserts requests = sum of outcomes for every kind of every thread. */
void rig_assert_balanced(const struct rig *r);

/* Copies the present records, in slot order, at most `max`. Returns their number. */
uint32_t rig_records(const struct rig *r, struct strobe_ring_item *out, uint32_t max);

#endif

/* For tests of CPU clocks and of the sampler's pace: an engine with one thread, its sampler, and a simulated host that
 * counts the requests it gets. The test controls the time, the stacks and the ticks of the thread's clock. */
#ifndef STROBE_UNIT_SUPPORT_TICKING_H
#define STROBE_UNIT_SUPPORT_TICKING_H

#include "tests/unit/support/capture_rig.h"

enum { US = 1000, MS = 1000000 };

extern struct rig ticking;
extern struct strobe_sampler sampler;

/* Requests to the host. */
extern struct asked {
    uint32_t keeps, rings, ends, periods;
    uint64_t period_ns, least_ns, most_ns, sum_ns; /* the last requested period; the smallest, largest and sum of all */
} asked;

/* The host's answers to a request for ticks, and for one tick now. At first STROBE_OK and STROBE_UNSUPPORTED. */
extern enum strobe_status keep_says, ring_says;

/* When this time is within a rest of the sampler, a new thread registers then. At first no thread does. */
extern uint64_t comes_at;
extern int rests, rouses;

/* Set-up and tear-down of each test. The tear-down checks the accounting. */
int ticking_start(void **state);
int ticking_stop(void **state);

/* The clock interrupts the thread `wall_us` later, in which it has used `cpu_us` of CPU time. */
void tick(uint64_t wall_us, uint64_t cpu_us);

/* The sampler's pass, `ms` later, in which the thread has used `cpu_us` of CPU time. */
void pass(uint64_t ms, uint64_t cpu_us);

/* Returns the site of a hook on the calling thread's stack. */
static inline struct strobe_site here(void)
{
    return (struct strobe_site){(uint64_t)(uintptr_t)__builtin_frame_address(0), 1};
}

#define TICKING(test) cmocka_unit_test_setup_teardown(test, ticking_start, ticking_stop)

#endif

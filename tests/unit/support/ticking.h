/* For tests of CPU clocks and of the sampler's pace: an engine with one thread whose clock the test has tick, its
 * sampler, and a host that counts what it is asked for. Time, stacks and the host's clocks are the test's. */
#ifndef STROBE_UNIT_SUPPORT_TICKING_H
#define STROBE_UNIT_SUPPORT_TICKING_H

#include "tests/unit/support/capture_rig.h"

enum { US = 1000, MS = 1000000 };

extern struct rig ticking;
extern struct strobe_sampler sampler;

/* What the host was asked for. */
extern struct asked {
    uint32_t keeps, rings, ends, periods;
    uint64_t period_ns, least_ns, most_ns, sum_ns; /* the period asked for last; of all that were asked for */
} asked;

/* What the host says to a wish for ticks, and to a wish for one tick now: at first STROBE_OK and STROBE_UNSUPPORTED. */
extern enum strobe_status keep_says, ring_says;

/* During a rest of the sampler another thread comes if this time lies in it: at first none does. */
extern uint64_t comes_at;
extern int rests, rouses;

/* Around each test; at its end the accounts must add up. */
int ticking_start(void **state);
int ticking_stop(void **state);

/* The clock interrupts the thread `wall_us` later, in which it has used `cpu_us` of CPU time. */
void tick(uint64_t wall_us, uint64_t cpu_us);

/* The sampler's pass, `ms` later, in which the thread has used `cpu_us` of CPU time. */
void pass(uint64_t ms, uint64_t cpu_us);

/* A hook on the calling thread's own stack. */
static inline struct strobe_site here(void)
{
    return (struct strobe_site){(uint64_t)(uintptr_t)__builtin_frame_address(0), 1};
}

#define TICKING(test) cmocka_unit_test_setup_teardown(test, ticking_start, ticking_stop)

#endif

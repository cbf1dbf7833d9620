/* For programs all of whose tests use one rig (capture_rig.h) with a sampler: these variables, the set-up and the
 * tear-down of each test, and a pass of the sampler. */
#ifndef STROBE_UNIT_SUPPORT_SAMPLED_H
#define STROBE_UNIT_SUPPORT_SAMPLED_H

#include "tests/unit/support/capture_rig.h"

enum { US = 1000, MS = 1000000 };

static struct rig rig;
static struct strobe_sampler sampler;

static int start_sampled(void **state)
{
    (void)state;
    rig_start_sampled(&rig, &sampler);
    return 0;
}

static int stop_sampled(void **state)
{
    (void)state;
    rig_stop_sampled(&rig);
    return 0;
}

/* One pass, `ms` later, in which the thread has used `cpu_us` of CPU time. */
static void pass(uint64_t ms, uint64_t cpu_us)
{
    rig_pass(&rig, &sampler, ms * MS, cpu_us * US);
}

#endif

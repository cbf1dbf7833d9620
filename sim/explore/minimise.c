/* Searches for a failure that is easier to read: small sizes first, and for each size the executions with the fewest
 * preemptions. */
#include "sim/explore/explore.h"

#include <time.h>

enum { PREEMPTIONS_MAX = 4 };

static double minimise_now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint32_t switches_of(const struct explore_failure *f)
{
    uint32_t sum = 0;
    for (uint32_t i = 1; i < f->step_count; i++)
        sum += f->step[i].thread != f->step[i - 1].thread;
    return sum;
}

static bool is_easier(const struct explore_failure *a, const struct explore_failure *b)
{
    uint32_t x = switches_of(a), y = switches_of(b);
    return x < y || (x == y && a->step_count < b->step_count);
}

static bool try_options(const struct explore_program *program, const struct explore_options *options,
                        struct explore_result *result)
{
    struct explore_result r;
    bool better = explore_run(program, options, &r) == STROBE_OK && r.failure.fault == result->failure.fault &&
                  (r.failure.size < result->failure.size || is_easier(&r.failure, &result->failure));
    if (better) {
        struct explore_failure worse = result->failure;
        result->failure = r.failure;
        r.failure = worse;
    }
    explore_result_free(&r);
    return better;
}

bool explore_minimise(const struct explore_program *program, const struct explore_options *options, double seconds,
                      struct explore_result *result)
{
    double end = minimise_now_seconds() + seconds;
    struct explore_options o = *options;
    uint32_t largest = result->failure.size;
    o.strategy = EXPLORE_BOUNDED;
    o.executions_max = 0;
    o.all_failures = false;
    for (o.size = largest ? 1 : 0; o.size <= largest; o.size++)
        for (o.preemptions = 0; o.preemptions <= PREEMPTIONS_MAX; o.preemptions++) {
            o.seconds_max = (end - minimise_now_seconds()) / 2;
            if (o.seconds_max <= 0.01)
                return false;
            if (try_options(program, &o, result))
                return true;
        }
    return false;
}

#include "tests/unit/support/trial.h"

#include "engine/base/mix.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CROWD_MAX = 64 };

/* The address sanitizer's allocator ends the process when an allocation is too large. Tests let allocations fail. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

uint64_t strobe_trial_random(uint64_t *state)
{
    return strobe_mix64(*state += 0x9e3779b97f4a7c15u);
}

uint32_t strobe_trial_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)((strobe_trial_random(state) >> 32) * limit >> 32);
}

uint32_t strobe_trial_rounds(uint32_t rounds)
{
    const char *stress = getenv("STROBE_STRESS_SECONDS");
    if (stress)
        return (uint32_t)(rounds * (1 + atof(stress)));
    if (!getenv("STROBE_TEST_LIGHT"))
        return rounds;
    return rounds / 20 > 2 ? rounds / 20 : 2;
}

uint32_t strobe_trial_nightly(uint32_t quick, uint32_t full)
{
    const char *nightly = getenv("FULL");
    return nightly && *nightly ? full : quick;
}

double strobe_trial_seconds(double quick)
{
    const char *stress = getenv("STROBE_STRESS_SECONDS");
    return stress ? atof(stress) : quick;
}

int strobe_trial_emulated(void)
{
    return getenv("STROBE_TEST_EMULATED") != NULL;
}

int strobe_trial_valgrind(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "vgpreload");
}

double strobe_trial_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct member {
    pthread_t thread;
    pthread_barrier_t *start;
    void (*body)(void *arg, uint32_t index);
    void *arg;
    uint32_t index;
};

static void *member_main(void *arg)
{
    struct member *m = arg;
    pthread_barrier_wait(m->start);
    m->body(m->arg, m->index);
    return NULL;
}

void strobe_trial_crowd(uint32_t threads, void (*body)(void *arg, uint32_t index), void *arg)
{
    struct member member[CROWD_MAX];
    pthread_barrier_t start;
    if (threads > CROWD_MAX || pthread_barrier_init(&start, NULL, threads))
        abort();
    for (uint32_t i = 0; i < threads; i++) {
        member[i] = (struct member){.start = &start, .body = body, .arg = arg, .index = i};
        if (pthread_create(&member[i].thread, NULL, member_main, &member[i]))
            abort();
    }
    for (uint32_t i = 0; i < threads; i++)
        pthread_join(member[i].thread, NULL);
    pthread_barrier_destroy(&start);
}

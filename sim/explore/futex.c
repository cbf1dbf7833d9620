/* Futexes built from the explorer's own operations. The bucket of a word counts its wakes, and entering it orders all
 * threads that do. */
#include "sim/explore/futex.h"

#include "sim/explore/access.h"
#include "sim/explore/program.h"

#include <stdatomic.h>
#include <string.h>

enum { BUCKETS = 16 }; /* further words share the last bucket */

static _Atomic uint64_t bucket[BUCKETS];
static uintptr_t word_of[BUCKETS];

void explore_futex_reset(void)
{
    memset(word_of, 0, sizeof word_of);
    memset((void *)bucket, 0, sizeof bucket);
    explore_share((void *)bucket, sizeof bucket);
}

static _Atomic uint64_t *futex_bucket_of(const _Atomic uint32_t *word)
{
    uint32_t i = 0;
    while (i + 1 < BUCKETS && word_of[i] && word_of[i] != (uintptr_t)word)
        i++;
    word_of[i] = (uintptr_t)word;
    return &bucket[i];
}

bool explore_futex_wait(_Atomic uint32_t *word, uint32_t expected, bool may_time_out)
{
    static const struct explore_site lock = {.text = "futex wait: enters"}, look = {.text = "futex wait: checks"},
                                     sleep = {.text = "futex wait: sleeps"};
    _Atomic uint64_t *wakes = futex_bucket_of(word);
    uint64_t before = explore_fetch(wakes, 8, EXPLORE_ADD, 0, memory_order_acq_rel, lock);
    if (explore_load(word, 4, memory_order_relaxed, look) != expected)
        return false;
    if (may_time_out && explore_choose(2))
        return true;
    while (explore_load(wakes, 8, memory_order_acquire, sleep) == before)
        explore_spin();
    return true;
}

void explore_futex_wake(_Atomic uint32_t *word)
{
    static const struct explore_site wake = {.text = "futex wake"};
    explore_fetch(futex_bucket_of(word), 8, EXPLORE_ADD, 1, memory_order_acq_rel, wake);
}

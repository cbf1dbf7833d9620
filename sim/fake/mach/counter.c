/* Counts that threads wait for. A grant is taken by whichever waiter wakes first. */
#include "sim/fake/mach/kernel.h"

bool fake_wait_on(_Atomic uint32_t *word, uint32_t seen, uint64_t at)
{
    fake_into();
    fake_on->waits(true);
    bool woken = fake_on->sleep_on(word, seen, at);
    fake_on->waits(false);
    fake_on->leave();
    return woken;
}

/* Taken in the kernel: a thread stopped with this lock would block other threads. */
static void counter_lock(struct fake_counter *c)
{
    uint32_t seen = 0;
    fake_into();
    if (atomic_compare_exchange_strong(&c->lock, &seen, 1))
        return;
    while (atomic_exchange(&c->lock, 2) != 0)
        fake_on->sleep_on(&c->lock, 2, UINT64_MAX);
}

static void counter_unlock(struct fake_counter *c)
{
    if (atomic_exchange(&c->lock, 0) == 2)
        fake_on->wake(&c->lock);
    fake_on->leave();
}

bool fake_counter_take(struct fake_counter *c, uint64_t at)
{
    bool in_time = true, had;
    counter_lock(c);
    if (c->value > 0) {
        c->value--;
        counter_unlock(c);
        return true;
    }
    c->waiting++;
    while (!(had = c->granted > 0) && in_time) {
        uint32_t seen = atomic_load(&c->word);
        counter_unlock(c);
        in_time = fake_wait_on(&c->word, seen, at);
        counter_lock(c);
    }
    c->granted -= had;
    c->waiting--;
    counter_unlock(c);
    return had;
}

bool fake_counter_give(struct fake_counter *c, bool to_all)
{
    counter_lock(c);
    uint32_t unserved = c->waiting - c->granted;
    if (unserved) {
        c->granted += to_all ? unserved : 1;
        atomic_fetch_add(&c->word, 1);
        fake_on->wake(&c->word);
    } else if (!to_all) {
        c->value++;
    }
    counter_unlock(c);
    return unserved > 0;
}

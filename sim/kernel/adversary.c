/* The adversarial schedule: choices that a real system leaves open, drawn from the seed.
 *
 * Half of the seeds walk at random: each runnable thread is next with equal probability. The other seeds give each
 * thread a priority and lower it at random change points. This finds bugs that need few switches at particular places,
 * with a known probability (Burckhardt, Kothari, Musuvathi, Nagarakatte: "A randomized scheduler with probabilistic
 * guarantees of finding bugs", ASPLOS 2010). The rate of switches at atomic operations of the engine is drawn per run,
 * too. Some runs have nearly none, so that long paths complete. */
#include "sim/kernel/atomic.h"
#include "sim/kernel/inside.h"

_Thread_local uint64_t sim_atomic_fuse = UINT64_MAX;

static const uint64_t STREAM = 0x6b65726e656c;

static uint64_t adversary_draw_below(struct sim_kernel *k, uint64_t n)
{
    return sim_random_below(&k->random, n);
}

/* Draws a number of any order of magnitude up to `most`; each magnitude is equally likely. */
static uint64_t any_magnitude(struct sim_kernel *k, uint64_t most)
{
    return adversary_draw_below(k, (most >> adversary_draw_below(k, 16)) + 1);
}

void sim_adversary_open(struct sim_kernel *k)
{
    k->random = sim_random_seed(k->options.seed, STREAM);
    k->by_priority = adversary_draw_below(k, 2) == 0;
    k->fuse_scale = (uint64_t)8 << 2 * adversary_draw_below(k, 5);
    k->lowest_rank = (uint64_t)1 << 62;
}

void sim_adversary_meet(struct sim_kernel *k, struct sim_thread_inside *t)
{
    t->rank = adversary_draw_below(k, (uint64_t)1 << 62);
}

void sim_adversary_arm(struct sim_kernel *k)
{
    sim_atomic_fuse = 1 + adversary_draw_below(k, 2 * k->fuse_scale);
}

void sim_adversary_rest(void)
{
    sim_atomic_fuse = UINT64_MAX;
}

/* A change point: the thread gets the lowest priority. */
static void adversary_lower_priority(struct sim_kernel *k, struct sim_thread_inside *t)
{
    t->rank = k->lowest_rank++;
}

void sim_atomic_preempt(void)
{
    struct sim_kernel *k = sim_kernel_current;
    if (!k || k->options.schedule != SIM_ADVERSARIAL || k->ended) {
        sim_adversary_rest();
        return;
    }
    sim_adversary_arm(k);
    struct sim_thread_inside *t = k->running;
    if (!t)
        return;
    k->stats.atomic_preemptions++;
    if (t->shown.debt_ns)
        sim_pay_debt(k, t);
    if (k->by_priority && adversary_draw_below(k, 4) == 0)
        adversary_lower_priority(k, t);
    if (k->ready.count && adversary_draw_below(k, 2) == 0)
        sim_yield();
    else
        sim_delay(k, t, any_magnitude(k, adversary_draw_below(k, 16) ? 20000 : 2000000));
}

uint64_t sim_adversary_slice(struct sim_kernel *k)
{
    return 1 + any_magnitude(k, k->options.slice_ns);
}

uint64_t sim_adversary_compute(struct sim_kernel *k, uint64_t ns)
{
    return ns + adversary_draw_below(k, ns / 64 + 1);
}

/* In a random walk a thread is passed by at most TURNS later ones. With keys from one range, threads with the highest
 * keys would stay in the queue for ever, because only lower ones are taken from it. */
uint64_t sim_adversary_line_key(struct sim_kernel *k, struct sim_thread_inside *t)
{
    enum { TURN_BITS = 34, TURNS = 64 };
    if (!k->by_priority)
        return (k->walk_turn++ << TURN_BITS) + adversary_draw_below(k, (uint64_t)TURNS << TURN_BITS);
    if (adversary_draw_below(k, 64) == 0)
        adversary_lower_priority(k, t);
    return t->rank;
}

bool sim_adversary_preempts(struct sim_kernel *k, const struct sim_thread_inside *woken,
                            const struct sim_thread_inside *on_core)
{
    return k->by_priority ? woken->rank < on_core->rank : adversary_draw_below(k, 4) == 0;
}

bool sim_adversary_spurious(struct sim_kernel *k, uint64_t *after_ns)
{
    if (adversary_draw_below(k, 64))
        return false;
    *after_ns = 1 + any_magnitude(k, 10000000);
    return true;
}

struct sim_thread_inside *sim_adversary_waiter(struct sim_kernel *k, const struct sim_waiters *line)
{
    uint64_t count = 0;
    struct sim_thread_inside *t;
    for (t = line->first; t; t = t->next)
        count++;
    uint64_t nth = adversary_draw_below(k, count);
    for (t = line->first; nth; nth--)
        t = t->next;
    return t;
}

uint64_t sim_adversary_signal(struct sim_kernel *k)
{
    return k->options.signal_ns + any_magnitude(k, 4 * k->options.signal_ns);
}

/* Returns an idle core. There must be one. */
struct sim_core *sim_adversary_core(struct sim_kernel *k)
{
    uint64_t nth = adversary_draw_below(k, k->idle_cores);
    struct sim_core *core = k->cores;
    for (;; core++)
        if (!core->thread && nth-- == 0)
            return core;
}

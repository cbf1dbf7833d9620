/* The fair schedule with a run queue ("line") per core: EEVDF, as in Linux since 6.12 (kernel/sched/fair.c; the name is
 * that of the paper by I. Stoica and H. Abdel-Wahab, 1995).
 *
 * A thread's `fair_ns` is its weighted CPU time. The average over a core's threads is the time due to each of them. A
 * thread is eligible when it has had no more than that. The next thread is the eligible one with the earliest deadline.
 * A deadline is a share of the core (turn_ns, weighted) after the begin of the thread's turn.
 *
 *   turn       a thread keeps its core until its deadline as long as it is eligible. The kernel checks the deadline
 *              at its ticks (slice_ns), and whenever a thread joins the line
 *   wake-up    a thread that joins the line takes the core at once if it would be next
 *   weight     with weighs_wakeups, a thread that joins the line takes the core although the turn there lasts, when it
 *              is eligible, its own turn is shorter by its weight, and its deadline is earlier. CFS, which Android's
 *              kernels up to 6.1 use, has a rule like this: wakeup_gran is divided by the weight of the woken thread
 *   delay      a thread that blocks although it has had more than is due to it stays in its core's line until it is
 *              eligible. When it is woken before that, it stays on that core, even if another core is idle
 *   lag        a thread that has had less than is due to it when it leaves a line has the same advantage in the next
 *              one
 *   balance    a woken thread goes to its own core when that is idle. Otherwise it goes to an idle core, unless most
 *              cores are busy. A core that becomes idle takes a thread from another core's line. An idle core also
 *              does so at the ticks of other cores. It takes no thread that has run there within HOT_NS. At some
 *              ticks a busy core compares its load with that of the others and may take a thread (sim_line_balance)
 *
 * Realtime threads are not in these lines. */
#include "sim/kernel/inside.h"

#define HOT_NS           ((uint64_t)500000)   /* sysctl_sched_migration_cost */
#define BALANCE_NS       ((uint64_t)16000000) /* for each core: sched_domain.min_interval * busy_factor */
#define FAILURES_MOST    20                   /* any load counts as almost none by then */
#define WHOLE_LOAD       ((int64_t)1 << 20)   /* of a thread that is always runnable, with nice 0 */
#define AVERAGE_AT_FIRST ((uint64_t)1 << 40)

/* Brings a decaying average up to date: for the last `ns`, its input was `value`. The half-life is 32 ms, as in the
 * kernel's averages (PELT). */
static void average_decay(int64_t *average, int64_t value, uint64_t ns)
{
    const uint64_t decay_ns = 46166000; /* 32 ms / ln 2 */
    for (; ns; ns -= ns < decay_ns / 8 ? ns : decay_ns / 8) {
        uint64_t step = ns < decay_ns / 8 ? ns : decay_ns / 8;
        *average += (value - *average) * (int64_t)(step / 64) / (int64_t)(decay_ns / 64);
        if (step == decay_ns / 8 && *average - value < 1024 && value - *average < 1024)
            break; /* longer times make no difference */
    }
}

/* Brings the thread's load up to date. It is runnable from now on, or not. */
static void line_note_load(const struct sim_kernel *k, struct sim_thread_inside *t, bool runnable)
{
    average_decay(&t->load, t->loads ? WHOLE_LOAD : 0, k->now_ns - t->load_at_ns);
    t->load_at_ns = k->now_ns;
    t->loads = runnable;
}

static uint64_t weighted(const struct sim_thread_inside *t, uint64_t ns)
{
    return t->weight == 1024 ? ns : ns * 1024 / t->weight;
}

static uint64_t turn_of(const struct sim_thread_inside *t)
{
    return weighted(t, t->kernel->options.machine.turn_ns);
}

/* ---- membership of lines */

void sim_line_open(struct sim_core *core)
{
    core->average_ns = AVERAGE_AT_FIRST;
}

void sim_line_add(struct sim_core *core, struct sim_thread_inside *t)
{
    assert(!t->in_line);
    t->in_line = core;
    t->line_previous = core->line_last;
    t->line_next = NULL;
    *(core->line_last ? &core->line_last->line_next : &core->line_first) = t;
    core->line_last = t;
    core->line_ready += !t->lingers;
}

void sim_line_drop(struct sim_thread_inside *t)
{
    struct sim_core *core = t->in_line;
    *(t->line_previous ? &t->line_previous->line_next : &core->line_first) = t->line_next;
    *(t->line_next ? &t->line_next->line_previous : &core->line_last) = t->line_previous;
    core->line_ready -= !t->lingers;
    t->in_line = NULL;
    t->lingers = false;
}

/* Returns the thread on the core, if it is not a realtime thread. */
static struct sim_thread_inside *line_current(const struct sim_core *core)
{
    return core->thread && !core->thread->realtime ? core->thread : NULL;
}

static uint64_t weight_of(const struct sim_core *core)
{
    const struct sim_thread_inside *on = line_current(core);
    uint64_t weight = on ? on->weight : 0;
    for (const struct sim_thread_inside *t = core->line_first; t; t = t->line_next)
        weight += t->weight;
    return weight;
}

/* Returns the time due to each thread of the core. */
static uint64_t line_average(const struct sim_kernel *k, struct sim_core *core)
{
    struct sim_thread_inside *on = line_current(core);
    int64_t sum = 0, weight = 0;
    if (on && !core->arriving)
        sim_account(k, on);
    for (const struct sim_thread_inside *t = core->line_first; t; t = t->line_next) {
        sum += (int64_t)(t->fair_ns - core->average_ns) * (int64_t)t->weight;
        weight += (int64_t)t->weight;
    }
    if (on) {
        sum += (int64_t)(on->fair_ns - core->average_ns) * (int64_t)on->weight;
        weight += (int64_t)on->weight;
    }
    if (weight)
        core->average_ns += (uint64_t)((sum - (sum < 0 ? weight - 1 : 0)) / weight);
    return core->average_ns;
}

/* ---- the next thread */

/* Returns the thread that should have the core: the one on it while its turn lasts. NULL: there is none. */
static struct sim_thread_inside *line_pick(const struct sim_kernel *k, struct sim_core *core)
{
    uint64_t due = line_average(k, core);
    struct sim_thread_inside *on = line_current(core), *best = on && on->fair_ns <= due ? on : NULL;
    if (best && best->fair_ns < best->turn_end_ns)
        return best;
    for (struct sim_thread_inside *t = core->line_first; t; t = t->line_next)
        if (t->fair_ns <= due && (!best || t->deadline_ns < best->deadline_ns + (best == on)))
            best = t;
    return best ? best : on;
}

/* Removes and returns the first thread in the line of an idle core. Blocked threads leave the line when they are
 * first. */
struct sim_thread_inside *sim_line_take(const struct sim_kernel *k, struct sim_core *core)
{
    struct sim_thread_inside *t;
    while ((t = line_pick(k, core))) {
        bool lingers = t->lingers;
        sim_line_drop(t);
        if (!lingers)
            break;
        t->lag_ns = 0;
    }
    if (t)
        t->turn_end_ns = t->deadline_ns;
    return t;
}

/* Moves the deadline on when the thread has used its turn, and then returns true. */
static bool line_renew_deadline(struct sim_thread_inside *t)
{
    if (t->fair_ns < t->deadline_ns)
        return false;
    t->deadline_ns = t->fair_ns + turn_of(t);
    return true;
}

/* True when the thread on the core must leave it. Called at ticks, and when a thread has joined the line. */
bool sim_line_gives_way(const struct sim_kernel *k, struct sim_core *core, bool asked)
{
    struct sim_thread_inside *on = line_current(core);
    if (!on)
        return false;
    if (!core->arriving)
        sim_account(k, on);
    bool over = line_renew_deadline(on);
    if ((over || asked) && line_pick(k, core) != on)
        return true;
    if (on->fair_ns >= on->turn_end_ns)
        on->turn_end_ns = on->deadline_ns;
    return false;
}

/* True when the woken thread ends the turn of the thread on the core, because of its greater weight. */
static bool line_ends_turn(const struct sim_kernel *k, struct sim_core *core, const struct sim_thread_inside *on,
                           const struct sim_thread_inside *t)
{
    return k->options.weighs_wakeups && turn_of(t) < turn_of(on) && t->fair_ns <= line_average(k, core) &&
           t->deadline_ns < on->deadline_ns;
}

/* True when a thread that has joined the line must get the core now. */
bool sim_line_preempts(const struct sim_kernel *k, struct sim_core *core, const struct sim_thread_inside *t)
{
    struct sim_thread_inside *on = line_current(core);
    if (!on)
        return false;
    if (!core->arriving)
        sim_account(k, on);
    if (line_ends_turn(k, core, on, t))
        on->turn_end_ns = on->fair_ns;
    return line_renew_deadline(on) ? line_pick(k, core) != on : line_pick(k, core) == t;
}

/* ---- leaving and coming */

/* Called when the thread is about to leave its core. */
void sim_line_leave(const struct sim_kernel *k, struct sim_thread_inside *t, bool blocked)
{
    struct sim_core *core = t->core;
    uint64_t due = line_average(k, core);
    int64_t lag = (int64_t)(due - t->fair_ns), tick = (int64_t)weighted(t, k->options.slice_ns);
    int64_t most = (int64_t)turn_of(t) * 2 > tick ? (int64_t)turn_of(t) * 2 : tick;
    line_renew_deadline(t);
    t->lag_ns = lag > most ? most : lag < -most ? -most : lag;
    t->left_core_ns = k->now_ns;
    t->lingers = blocked && lag < 0;
    line_note_load(k, t, !blocked);
    if (t->lingers)
        sim_line_add(core, t);
}

/* Sets a thread's position in a line: its lag from the average. The thread itself moves the average. */
static void line_place_newcomer(const struct sim_kernel *k, struct sim_core *core, struct sim_thread_inside *t,
                                bool is_new)
{
    int64_t weight = (int64_t)weight_of(core), own = (int64_t)t->weight;
    uint64_t due = line_average(k, core);
    t->fair_ns = weight ? due - (uint64_t)(t->lag_ns * (weight + own) / weight) : due;
    t->deadline_ns = t->fair_ns + (is_new ? turn_of(t) / 2 : turn_of(t));
    t->turn_end_ns = t->deadline_ns;
}

static struct sim_core *lightest(struct sim_kernel *k)
{
    struct sim_core *best = &k->cores[0];
    for (uint32_t i = 1; i < k->options.cores; i++)
        if (weight_of(&k->cores[i]) < weight_of(best))
            best = &k->cores[i];
    return best;
}

/* Updates the average number of busy cores. Called before the number of idle cores changes. */
void sim_line_note_busy(struct sim_kernel *k)
{
    int64_t busy = (int64_t)(k->options.cores - k->idle_cores) << 20;
    average_decay(&k->busy_average, busy, k->now_ns - k->busy_since_ns);
    k->busy_since_ns = k->now_ns;
}

/* True when the kernel would search an idle core for a thread whose own core is busy. It does not when the cores are so
 * busy on average that it expects to find none (update_idle_cpu_scan; 117 is the domain's imbalance_pct). */
static bool looks_for_idle(struct sim_kernel *k)
{
    int64_t cores = k->options.cores;
    sim_line_note_busy(k);
    int64_t used = k->busy_average / cores >> 10, scaled = used * 117 / 100; /* of a core, in 1024ths */
    return cores * (1024 - scaled * scaled / 1024) / 1024 >= 1;
}

/* Returns the thread's own core when that is idle, else possibly an idle core. Otherwise returns its own core, unless
 * the waker's core has clearly less load. */
static struct sim_core *line_choose_core(struct sim_kernel *k, const struct sim_thread_inside *t)
{
    struct sim_core *last = t->last_core, *wakers = k->running ? k->running->core : NULL;
    if (last && !last->thread)
        return last;
    bool looks = k->idle_cores && (!last || looks_for_idle(k));
    for (uint32_t i = 0; looks && i < k->options.cores; i++)
        if (!k->cores[i].thread)
            return &k->cores[i];
    if (!last)
        return lightest(k);
    if (wakers && wakers != last && (weight_of(wakers) + t->weight) * 100 < weight_of(last) * 112)
        return wakers;
    return last;
}

/* Adds a runnable thread to a line, and returns the line's core. */
struct sim_core *sim_line_come(struct sim_kernel *k, struct sim_thread_inside *t)
{
    struct sim_core *core = t->in_line;
    if (!t->last_core)
        t->load = WHOLE_LOAD; /* of a new thread */
    line_note_load(k, t, true);
    if (core) {
        uint64_t due = line_average(k, core);
        bool rested = t->fair_ns <= due;
        sim_line_drop(t);
        t->lag_ns = 0;
        if (rested)
            line_place_newcomer(k, core, t, false);
    } else {
        core = line_choose_core(k, t);
        line_place_newcomer(k, core, t, !t->last_core);
    }
    sim_line_add(core, t);
    return core;
}

/* ---- balance */

static struct sim_thread_inside *line_first_cold(const struct sim_kernel *k, const struct sim_core *core)
{
    for (struct sim_thread_inside *t = core->line_first; t; t = t->line_next)
        if (!t->lingers && (!t->last_core || k->now_ns - t->left_core_ns >= HOT_NS))
            return t;
    return NULL;
}

/* Moves a thread from the line of `other` to `core`, where it keeps its lag. It is in no line then. */
static void line_move(const struct sim_kernel *k, struct sim_core *other, struct sim_core *core,
                      struct sim_thread_inside *t)
{
    int64_t lag = (int64_t)(line_average(k, other) - t->fair_ns);
    uint64_t left = t->deadline_ns - t->fair_ns;
    sim_line_drop(t);
    t->lag_ns = lag;
    line_place_newcomer(k, core, t, false);
    t->deadline_ns = t->turn_end_ns = t->fair_ns + left;
}

/* Called when the core has just become idle, or at another core's tick. Removes a thread from another core's line, and
 * returns it. NULL: there is none. */
struct sim_thread_inside *sim_line_pull(struct sim_kernel *k, struct sim_core *core)
{
    for (uint32_t i = 0; i < k->options.cores; i++) {
        struct sim_core *other = &k->cores[i];
        struct sim_thread_inside *t = other->line_ready && other->thread ? line_first_cold(k, other) : NULL;
        if (other == core || !t)
            continue;
        line_move(k, other, core, t);
        return t;
    }
    return NULL;
}

/* ---- balance between busy cores */

static int64_t load_of(const struct sim_thread_inside *t)
{
    return t->load / 1024 * (int64_t)t->weight;
}

/* Stores the load of each core: of all threads that are on it, in its line, or were on it last. Returns the sum. */
static int64_t line_sum_loads(struct sim_kernel *k, int64_t *loads)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < k->options.cores; i++)
        loads[i] = 0;
    for (struct sim_thread_inside *t = k->all; t; t = t->next_all) {
        const struct sim_core *core = t->core ? t->core : t->in_line ? t->in_line : t->last_core;
        if (!core || t->realtime || t->shown.state == SIM_ENDED)
            continue;
        line_note_load(k, t, t->loads);
        loads[core->index] += load_of(t);
        sum += load_of(t);
    }
    return sum;
}

static struct sim_core *line_most_loaded(struct sim_kernel *k, const struct sim_core *than, const int64_t *loads)
{
    struct sim_core *most = NULL;
    for (uint32_t i = 0; i < k->options.cores; i++)
        if (&k->cores[i] != than && k->cores[i].line_ready && (!most || loads[i] > loads[most->index]))
            most = &k->cores[i];
    return most;
}

/* Returns a thread in the line whose load is not too large to be taken. Each failure halves what a load counts. */
static struct sim_thread_inside *line_find_movable(const struct sim_kernel *k, const struct sim_core *core,
                                                   int64_t most, uint32_t failures)
{
    for (struct sim_thread_inside *t = core->line_first; t; t = t->line_next)
        if (!t->lingers && load_of(t) >> failures <= most &&
            (failures > 1 || !t->last_core || k->now_ns - t->left_core_ns >= HOT_NS))
            return t;
    return NULL;
}

/* Called at a tick of a busy core: takes a thread from the core with the most load when that has clearly more (117 is
 * the domain's imbalance_pct). A thread is taken only when its load is at most half of the difference, but after some
 * failures in a row any thread is taken. Threads that do not divide evenly among the cores therefore change cores all
 * the time, and get equal shares (load_balance, calculate_imbalance, detach_tasks). */
void sim_line_balance(struct sim_kernel *k, struct sim_core *core)
{
    int64_t loads[sizeof k->cores / sizeof k->cores[0]];
    if (k->now_ns < core->balance_ns)
        return;
    int64_t mean = line_sum_loads(k, loads) / k->options.cores, own = loads[core->index];
    struct sim_core *other = line_most_loaded(k, core, loads);
    bool differs = other && loads[other->index] * 100 > own * 117 && mean > own;
    /* The interval is doubled when no difference was found. A busy core balances a tick earlier. */
    uint64_t interval_ns = BALANCE_NS * k->options.cores * (differs ? 1 : 2);
    core->balance_ns = k->now_ns + interval_ns - k->options.slice_ns;
    if (!differs) {
        core->failed_balances = 0;
        return;
    }
    int64_t above = loads[other->index] - mean, below = mean - own;
    struct sim_thread_inside *t = line_find_movable(k, other, above < below ? above : below, core->failed_balances);
    if (!t) {
        core->failed_balances += core->failed_balances < FAILURES_MOST;
        return;
    }
    core->failed_balances = 0;
    line_move(k, other, core, t);
    sim_line_add(core, t);
}

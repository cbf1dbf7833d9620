/* CPU timers: calls on a thread after each period of its own CPU time.
 *
 * The scheduler plans a core's next event no later than the time at which its thread's timer is due
 * (sim_cpu_timer_due). At that event sim_cpu_timer_check advances the timer to its next period and returns whether the
 * thread must get control. The thread then calls fn (sim_cpu_timer_call) and continues to compute. */
#include "sim/kernel/inside.h"

static const uint64_t TICK_NS = 4000000;

static uint64_t tick_of(const struct sim_cpu_timer *timer)
{
    return timer->tick_ns ? timer->tick_ns : TICK_NS;
}

static uint64_t cpu_ns_now(const struct sim_kernel *k, const struct sim_thread_inside *t)
{
    return t->cpu_ns + (t->shown.state == SIM_RUNNING ? k->now_ns - t->since_ns : 0);
}

/* Returns when the timer of a thread is due that is on a core and stays there. */
uint64_t sim_cpu_timer_due(const struct sim_kernel *k, const struct sim_thread_inside *t)
{
    uint64_t cpu_ns = cpu_ns_now(k, t);
    uint64_t due = sim_later(k->now_ns, t->clock_due_ns > cpu_ns ? t->clock_due_ns - cpu_ns : 0);
    if (t->clock.mode == SIM_CPU_TIMER_EXACT)
        return due;
    uint64_t tick = tick_of(&t->clock), past = due % tick;
    return past ? sim_later(due, tick - past) : due;
}

/* Advances a due timer by whole periods. True: fn must be called now. The thread is on a core, and its CPU time is
 * accounted. */
bool sim_cpu_timer_check(struct sim_thread_inside *t)
{
    const struct sim_kernel *k = t->kernel;
    uint64_t cpu_ns = cpu_ns_now(k, t);
    if (cpu_ns < t->clock_due_ns || (t->clock.mode == SIM_CPU_TIMER_TICK && k->now_ns % tick_of(&t->clock)))
        return false;
    uint64_t periods = (cpu_ns - t->clock_due_ns) / t->clock.period_ns + 1;
    t->clock_due_ns += periods * t->clock.period_ns;
    bool lost = t->clock_rings || t->clock_busy || (t->in_kernel && t->clock.mode == SIM_CPU_TIMER_EXACT);
    t->clock_stats.missed += periods - !lost;
    t->clock_rings |= !lost;
    return t->clock_rings && !t->in_kernel;
}

/* Calls fn. The thread runs, and is charged the cost of the call. */
void sim_cpu_timer_call(struct sim_thread_inside *t)
{
    const struct sim_cpu_timer timer = t->clock;
    t->clock_rings = false;
    t->clock_busy = true;
    t->clock_stats.fired++;
    t->shown.debt_ns = timer.cost_ns;
    timer.fn(&t->shown, timer.ctx);
    t->clock_busy = false;
}

enum strobe_status sim_cpu_timer(struct sim_thread *thread, const struct sim_cpu_timer *timer)
{
    struct sim_thread_inside *t = thread->inside;
    struct sim_kernel *k = t->kernel;
    sim_enter_any(k);
    if (thread->state == SIM_ENDED)
        return STROBE_GONE;
    assert(!timer->period_ns || timer->fn);
    t->clock = *timer;
    t->clock_due_ns = cpu_ns_now(k, t) + timer->period_ns;
    t->clock_rings = false;
    if (t != k->running && t->core && !t->core->arriving)
        sim_replan(k, t->core);
    return STROBE_OK;
}

enum strobe_status sim_cpu_timer_ring(struct sim_thread *thread)
{
    struct sim_thread_inside *t = thread->inside;
    if (thread->state == SIM_ENDED)
        return STROBE_GONE;
    if (thread->state != SIM_READY || !t->clock.fn || !(t->left_ns || t->clock_busy))
        return STROBE_UNSUPPORTED;
    t->clock_rings = true;
    return STROBE_OK;
}

struct sim_cpu_timer_stats sim_cpu_timer_stats(const struct sim_thread *t)
{
    return t->inside->clock_stats;
}

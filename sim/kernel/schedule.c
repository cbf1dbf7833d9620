/* The scheduler: assigns threads to cores and handles events.
 *
 * The fair schedule where the cores share one line follows the Linux kernel's CFS (I. Molnar, 2007). The next thread is
 * the runnable one with the least CPU time, weighted by niceness. A thread that wakes after a long sleep is put half a
 * slice ahead of the others, not further. Where each core has a line, lines.c selects the next thread. */
#include "sim/kernel/inside.h"

#include <stddef.h>
#include <stdlib.h>

#define OWNER(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

static const uint64_t NOT_REALTIME = (uint64_t)1 << 63; /* bit in the keys of the line */

/* ---- CPU time */

/* The Linux kernel's table (kernel/sched/core.c, sched_prio_to_weight): one step of niceness changes the time by a
 * tenth. */
uint64_t sim_weight(int nice)
{
    static const uint32_t weights[40] = {
        88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
        3906,  3121,  2501,  1991,  1586,  1277,  1024,  820,   655,   526,   423,  335,  272,  215,
        172,   137,   110,   87,    70,    56,    45,    36,    29,    23,    18,   15,
    };
    assert(nice >= -20 && nice <= 19);
    return weights[nice + 20];
}

/* Accounts the time since the last call. The thread is on a core. */
void sim_account(const struct sim_kernel *k, struct sim_thread_inside *t)
{
    uint64_t ns = k->now_ns - t->since_ns;
    t->since_ns = k->now_ns;
    t->cpu_ns += ns;
    t->fair_ns += t->weight == 1024 ? ns : ns * 1024 / t->weight;
    t->left_ns = t->left_ns > ns ? t->left_ns - ns : 0;
}

static void raise_floor(struct sim_kernel *k)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < k->options.cores; i++) {
        struct sim_thread_inside *t = k->cores[i].thread;
        if (!t || t->realtime)
            continue;
        if (!k->cores[i].arriving)
            sim_account(k, t);
        least = t->fair_ns < least ? t->fair_ns : least;
    }
    if (k->ready.count && sim_heap_least(&k->ready) >= NOT_REALTIME) {
        uint64_t first = sim_heap_least(&k->ready) - NOT_REALTIME;
        least = first < least ? first : least;
    }
    if (least != UINT64_MAX && least > k->fair_floor_ns)
        k->fair_floor_ns = least;
}

/* ---- cores */

static void observe_thread(struct sim_kernel *k, struct sim_thread_inside *t, int core, bool blocked)
{
    if (k->observer.core)
        k->observer.core(k->observer.ctx, &t->shown, core, blocked, k->now_ns);
}

/* Returns when the core's thread has had what it asked for, its slice ends, or its CPU timer is due. */
static uint64_t event_time(const struct sim_kernel *k, const struct sim_core *core)
{
    uint64_t end = sim_later(k->now_ns, core->thread->left_ns);
    if (core->thread->clock_rings && !core->thread->in_kernel)
        return k->now_ns;
    if (core->thread->clock.period_ns) {
        uint64_t due = sim_cpu_timer_due(k, core->thread);
        end = due < end ? due : end;
    }
    if (end > core->slice_end_ns)
        end = core->slice_end_ns > k->now_ns ? core->slice_end_ns : k->now_ns;
    return end;
}

/* Plans the core's next event. An event that comes before all others stays out of the heap. */
static void core_plan_event(struct sim_kernel *k, struct sim_core *core)
{
    uint64_t end = event_time(k, core);
    if (!k->running && !k->due_now && end == k->now_ns && sim_heap_least(&k->events) > k->now_ns)
        k->due_now = core;
    else
        sim_heap_put(&k->events, &core->event, end);
}

static void unplan(struct sim_kernel *k, struct sim_core *core)
{
    if (k->due_now == core)
        k->due_now = NULL;
    else
        sim_heap_remove(&k->events, &core->event);
}

static void vacate(struct sim_kernel *k, struct sim_core *core)
{
    unplan(k, core);
    core->thread->last_core = core;
    core->thread->core = NULL;
    core->thread = NULL;
    core->arriving = false;
    core->idle_since_ns = k->now_ns;
    core->fell_idle = true;
    core->gives_way = false;
    if (k->has_lines)
        sim_line_note_busy(k);
    k->idle_cores++;
}

/* Plans the event of a core again, after a change of something that it depends on. The core's thread computes. */
void sim_replan(struct sim_kernel *k, struct sim_core *core)
{
    unplan(k, core);
    sim_heap_put(&k->events, &core->event, event_time(k, core));
}

static void new_slice(struct sim_kernel *k, struct sim_core *core)
{
    if (k->has_lines) { /* the next tick */
        core->slice_end_ns = (k->now_ns / k->options.slice_ns + 1) * k->options.slice_ns;
        return;
    }
    core->slice_end_ns =
        sim_later(k->now_ns, k->options.schedule == SIM_FAIR ? k->options.slice_ns : sim_adversary_slice(k));
}

static void core_handle_arrival(struct sim_kernel *k, struct sim_core *core)
{
    struct sim_thread_inside *t = core->thread;
    core->arriving = false;
    core->last = t;
    if (t->stop_due) {
        vacate(k, core);
        sim_stop_taken(t);
        sim_refill(k);
        return;
    }
    t->shown.state = SIM_RUNNING;
    t->since_ns = k->now_ns;
    new_slice(k, core);
    observe_thread(k, t, (int)core->index, false);
    core_plan_event(k, core);
}

/* Charges the cost of a thread's wake-up to the waker and to the thread. */
static void charge_wake(struct sim_kernel *k, struct sim_thread_inside *t, uint64_t idle_ns)
{
    const struct sim_machine *m = &k->options.machine;
    if (k->options.schedule != SIM_FAIR)
        return;
    if (k->running)
        k->running->shown.debt_ns += sim_span_cost_ns(&m->wake_call, idle_ns);
    t->leaves_wait_ns = sim_span_cost_ns(&m->wait_call, idle_ns);
}

/* Returns how long the core takes to run a thread that another one woke. */
__attribute__((noinline)) static uint64_t wake_on_core(struct sim_kernel *k, const struct sim_core *core,
                                                       struct sim_thread_inside *t)
{
    uint64_t idle_ns = k->now_ns - core->idle_since_ns;
    charge_wake(k, t, idle_ns);
    return sim_span_lateness_draw(&k->options.machine.wake, idle_ns, &k->chance);
}

static void core_run_thread(struct sim_kernel *k, struct sim_core *core, struct sim_thread_inside *t)
{
    core->thread = t;
    t->core = core;
    if (k->has_lines)
        sim_line_note_busy(k);
    k->idle_cores--;
    uint64_t takes_ns = core->last == t ? 0 : k->options.switch_ns;
    if (t->woken_late)
        takes_ns += wake_on_core(k, core, t);
    t->woken_late = false;
    if (!takes_ns) {
        k->stats.switches += core->last != t;
        core_handle_arrival(k, core);
        return;
    }
    k->stats.switches += core->last != t;
    core->arriving = true;
    sim_heap_put(&k->events, &core->event, sim_later(k->now_ns, takes_ns));
}

/* Takes the thread off its core, whether it is on it or arriving. Splits what is left of its compute into the debt,
 * which comes first, and the rest. */
void sim_off_core(struct sim_kernel *k, struct sim_thread_inside *t, bool blocked)
{
    struct sim_core *core = t->core;
    if (k->has_lines && !t->realtime)
        sim_line_leave(k, t, blocked);
    if (core->arriving) {
        vacate(k, core);
        return;
    }
    sim_account(k, t);
    vacate(k, core);
    uint64_t computes = t->shown.compute_ns < t->left_ns ? t->shown.compute_ns : t->left_ns;
    t->shown.compute_left_ns = computes;
    t->shown.debt_ns = t->left_ns - computes;
    if (t->shown.state == SIM_RUNNING)
        t->shown.state = SIM_READY;
    observe_thread(k, t, -1, blocked);
}

/* ---- the line */

static uint64_t line_key(struct sim_kernel *k, struct sim_thread_inside *t)
{
    if (t->realtime)
        return 0;
    return NOT_REALTIME | (k->options.schedule == SIM_FAIR ? t->fair_ns : sim_adversary_line_key(k, t));
}

static void core_queue_thread(struct sim_kernel *k, struct sim_thread_inside *t)
{
    if (k->has_lines && !t->realtime) {
        sim_line_add(t->last_core, t);
        return;
    }
    sim_heap_put(&k->ready, &t->ready, line_key(k, t));
}

static struct sim_core *idle_core(struct sim_kernel *k, const struct sim_thread_inside *t)
{
    if (k->options.schedule == SIM_ADVERSARIAL)
        return sim_adversary_core(k);
    if (t->last_core && !t->last_core->thread)
        return t->last_core;
    uint32_t i = 0;
    while (k->cores[i].thread)
        i++;
    return &k->cores[i];
}

/* Removes the thread from the line or core where it waits. */
void sim_leave_line(struct sim_kernel *k, struct sim_thread_inside *t)
{
    sim_heap_remove(&k->ready, &t->ready);
    if (t->in_line)
        sim_line_drop(t);
    if (t->displaced_from) {
        t->displaced_from->displaced = NULL;
        t->displaced_from = NULL;
        k->displaced--;
    }
}

/* Gives idle cores back to the threads that realtime threads displaced, unless another thread comes first. */
static void put_displaced_back(struct sim_kernel *k)
{
    for (uint32_t i = 0; i < k->options.cores && k->displaced; i++) {
        struct sim_core *core = &k->cores[i];
        struct sim_thread_inside *t = core->displaced;
        if (!t || core->thread)
            continue;
        sim_leave_line(k, t);
        if (k->ready.count && sim_heap_least(&k->ready) < line_key(k, t))
            core_queue_thread(k, t);
        else
            core_run_thread(k, core, t);
    }
}

/* Gives an idle core to the first thread in its line, or, when it has just become idle, to one of another line. */
static void fill_from_lines(struct sim_kernel *k, struct sim_core *core)
{
    struct sim_thread_inside *t = core->thread ? NULL : sim_line_take(k, core);
    if (!t && !core->thread && core->fell_idle)
        t = sim_line_pull(k, core);
    core->fell_idle = false;
    if (t)
        core_run_thread(k, core, t);
}

/* Gives idle cores to the threads in the line. */
void sim_refill(struct sim_kernel *k)
{
    if (k->displaced)
        put_displaced_back(k);
    while (k->idle_cores && k->ready.count) {
        struct sim_thread_inside *t = OWNER(sim_heap_take(&k->ready), struct sim_thread_inside, ready);
        core_run_thread(k, idle_core(k, t), t);
    }
    for (uint32_t i = 0; k->has_lines && i < k->options.cores && k->idle_cores; i++)
        fill_from_lines(k, &k->cores[i]);
}

static bool preempts(struct sim_kernel *k, const struct sim_thread_inside *woken,
                     const struct sim_thread_inside *on_core)
{
    if (woken->realtime || on_core->realtime)
        return woken->realtime && !on_core->realtime;
    if (k->options.schedule == SIM_ADVERSARIAL)
        return sim_adversary_preempts(k, woken, on_core);
    return woken->fair_ns + k->options.slice_ns / 3 < on_core->fair_ns;
}

static void preempt(struct sim_kernel *k, struct sim_core *core)
{
    struct sim_thread_inside *t = core->thread;
    if (t == k->running) {
        core->slice_end_ns = k->now_ns; /* it leaves when it next uses time */
        core->gives_way = true;
        return;
    }
    if (!core->arriving) {
        t->shown.involuntary_switches++;
        k->stats.preemptions++;
    }
    sim_off_core(k, t, false);
    core_queue_thread(k, t);
    sim_refill(k);
}

/* A realtime thread takes the core that it was on last. The thread on it becomes displaced: the time is too short for
 * another core to take it. */
static void take_own_core(struct sim_kernel *k, struct sim_thread_inside *t)
{
    struct sim_core *core = t->last_core;
    struct sim_thread_inside *other = core->thread;
    if (!core->arriving) {
        other->shown.involuntary_switches++;
        k->stats.preemptions++;
    }
    sim_off_core(k, other, false);
    if (core->displaced || k->has_lines) {
        core_queue_thread(k, other);
    } else {
        core->displaced = other;
        other->displaced_from = core;
        k->displaced++;
    }
    t->woken_late = false;
    core_run_thread(k, core, t);
}

static bool takes_own_core(const struct sim_kernel *k, const struct sim_thread_inside *t)
{
    const struct sim_core *core = t->last_core;
    return t->realtime && k->options.schedule == SIM_FAIR && core && core->thread && core->thread != k->running &&
           !core->thread->realtime && !core->thread->errand;
}

/* Returns the core whose thread has had the most CPU time. */
static struct sim_core *core_to_preempt(struct sim_kernel *k)
{
    struct sim_core *most = NULL;
    for (uint32_t i = 0; i < k->options.cores; i++) {
        struct sim_core *core = &k->cores[i];
        if (!core->thread->realtime && !core->thread->errand &&
            (!most || core->thread->fair_ns > most->thread->fair_ns))
            most = core;
    }
    return most;
}

static void make_ready_in_line(struct sim_kernel *k, struct sim_thread_inside *t)
{
    struct sim_core *core = sim_line_come(k, t);
    if (!core->thread) {
        sim_line_drop(t);
        core_run_thread(k, core, t);
        return;
    }
    if (t->woken_late)
        charge_wake(k, t, 0);
    t->woken_late = false;
    if (!core->thread->errand && sim_line_preempts(k, core, t))
        preempt(k, core);
}

/* Puts a runnable thread into the line, or on a core at once. A stopped thread follows when it continues. */
void sim_make_ready(struct sim_kernel *k, struct sim_thread_inside *t)
{
    if (k->has_lines && !t->realtime) {
        make_ready_in_line(k, t);
        return;
    }
    raise_floor(k);
    if (!t->realtime) {
        uint64_t credit = k->options.slice_ns / 2;
        uint64_t least = k->fair_floor_ns > credit ? k->fair_floor_ns - credit : 0;
        t->fair_ns = t->fair_ns > least ? t->fair_ns : least;
    }
    if (takes_own_core(k, t)) {
        take_own_core(k, t);
        return;
    }
    if (k->idle_cores) {
        core_run_thread(k, idle_core(k, t), t);
        return;
    }
    if (t->woken_late)
        charge_wake(k, t, 0);
    t->woken_late = false;
    core_queue_thread(k, t);
    struct sim_core *core = core_to_preempt(k);
    if (core && preempts(k, t, core->thread))
        preempt(k, core);
}

/* At a tick: lets idle cores take threads that wait in this line. Returns true when the core's thread must leave. */
static bool line_gives_way(struct sim_kernel *k, struct sim_core *core)
{
    bool asked = core->gives_way;
    core->gives_way = false;
    if (k->ready.count && !core->thread->realtime)
        return true;
    for (uint32_t i = 0; i < k->options.cores && k->idle_cores && core->line_ready; i++) {
        struct sim_thread_inside *t = k->cores[i].thread ? NULL : sim_line_pull(k, &k->cores[i]);
        if (t)
            core_run_thread(k, &k->cores[i], t);
    }
    sim_line_balance(k, core);
    if (sim_line_gives_way(k, core, asked))
        return true;
    new_slice(k, core);
    return false;
}

/* The slice is over: returns true when the first thread in the line goes before. */
static bool gives_way(struct sim_kernel *k, struct sim_core *core)
{
    struct sim_thread_inside *t = core->thread;
    if (k->has_lines)
        return line_gives_way(k, core);
    if (core->displaced) { /* the realtime thread stays, and the displaced one goes elsewhere */
        struct sim_thread_inside *other = core->displaced;
        sim_leave_line(k, other);
        core_queue_thread(k, other);
        sim_refill(k);
    }
    if (k->ready.count && !t->realtime && sim_heap_least(&k->ready) <= line_key(k, t))
        return true;
    new_slice(k, core);
    return false;
}

/* ---- events */

struct sim_call {
    struct sim_node event;
    void (*fn)(void *ctx);
    void *ctx;
    struct sim_call *next;
};

/* Returns the maximum number of pending events: the limit, one per core, two per thread. */
uint32_t sim_events_most(const struct sim_kernel *k)
{
    return 1 + k->options.cores + 2 * k->alive + k->calls_due + 1;
}

enum strobe_status sim_at(struct sim_kernel *k, uint64_t time_ns, void (*fn)(void *ctx), void *ctx)
{
    struct sim_call *call = k->calls;
    if (!sim_heap_reserve(&k->events, sim_events_most(k)))
        return STROBE_IO;
    if (call)
        k->calls = call->next;
    else if (!(call = malloc(sizeof *call)))
        return STROBE_IO;
    *call = (struct sim_call){.event.kind = SIM_EVENT_CALL, .fn = fn, .ctx = ctx};
    k->calls_due++;
    sim_heap_put(&k->events, &call->event, time_ns > k->now_ns ? time_ns : k->now_ns);
    return STROBE_OK;
}

void sim_calls_free(struct sim_kernel *k)
{
    while (k->events.count) {
        struct sim_node *n = sim_heap_take(&k->events);
        if (n->kind == SIM_EVENT_CALL)
            free(OWNER(n, struct sim_call, event));
    }
    for (struct sim_call *call = k->calls, *next; call; call = next) {
        next = call->next;
        free(call);
    }
}

/* Runs a callback. It runs on the current fiber, but with no fiber's thread-local state. */
static void call_back(struct sim_kernel *k, struct sim_call *call)
{
    void (*fn)(void *ctx) = call->fn;
    void *ctx = call->ctx;
    struct sim_fiber *host = k->host;
    call->next = k->calls;
    k->calls = call;
    k->calls_due--;
    if (host != &k->outside)
        sim_fiber_swap_locals(host, &k->outside);
    fn(ctx);
    if (host != &k->outside)
        sim_fiber_swap_locals(&k->outside, host);
}

void sim_finish_run(struct sim_kernel *k, enum sim_end end)
{
    k->ended = true;
    k->end = end;
    /* An executing thread must not advance time any more. */
    sim_heap_remove(&k->events, &k->limit);
    sim_heap_put(&k->events, &k->limit, 0);
}

static struct sim_thread_inside *core_event(struct sim_kernel *k, struct sim_core *core)
{
    if (core->arriving) {
        core_handle_arrival(k, core);
        return NULL;
    }
    struct sim_thread_inside *t = core->thread;
    sim_account(k, t);
    if (!t->left_ns || (t->clock_rings && !t->in_kernel) || (t->clock.period_ns && sim_cpu_timer_check(t)))
        return t;
    if (core->slice_end_ns > k->now_ns) {
        core_plan_event(k, core);
    } else if (gives_way(k, core)) {
        t->shown.involuntary_switches++;
        k->stats.preemptions++;
        sim_off_core(k, t, false);
        if (!k->has_lines)
            sim_refill(k);
        core_queue_thread(k, t);
        sim_refill(k);
    } else {
        core_plan_event(k, core);
    }
    return NULL;
}

static void timer_event(struct sim_kernel *k, struct sim_thread_inside *t)
{
    if (t->delayed) {
        t->delayed = false;
        sim_make_ready(k, t);
    } else if (t->waits == SIM_WAIT_STOP) {
        sim_stop_withdraw(t);
        sim_rouse(t, SIM_WAKE_TIMEOUT, NULL);
    } else {
        sim_rouse(t,
                  t->waits == SIM_WAIT_IO ? SIM_WAKE_DEVICE
                  : t->spurious           ? SIM_WAKE_SPURIOUS
                                          : SIM_WAKE_TIMEOUT,
                  NULL);
    }
}

/* True when no event is left except the limit. */
static bool stands_still(const struct sim_kernel *k)
{
    return k->events.count == 1 && !k->due_now && k->idle_cores == k->options.cores;
}

static struct sim_node *kernel_next_event(struct sim_kernel *k)
{
    struct sim_node *n = k->taken.node;
    k->now_ns = n ? k->taken.key : sim_heap_least(&k->events);
    k->taken.node = NULL;
    return n ? n : sim_heap_take(&k->events);
}

/* Handles events and returns the thread that runs next; NULL at the end. */
static struct sim_thread_inside *next_thread(struct sim_kernel *k)
{
    struct sim_thread_inside *t = NULL;
    while (!t && !k->ended) {
        if (k->due_now) {
            struct sim_core *core = k->due_now;
            k->due_now = NULL;
            t = core_event(k, core);
            continue;
        }
        if (!k->taken.node && stands_still(k)) {
            sim_deadlock_report_all(k);
            continue;
        }
        struct sim_node *n = kernel_next_event(k);
        k->stats.events++;
        switch ((enum sim_event)n->kind) {
        case SIM_EVENT_CORE: t = core_event(k, OWNER(n, struct sim_core, event)); break;
        case SIM_EVENT_TIMER: timer_event(k, OWNER(n, struct sim_thread_inside, timer)); break;
        case SIM_EVENT_SIGNAL: sim_signal_due(OWNER(n, struct sim_thread_inside, signal)); break;
        case SIM_EVENT_CALL: call_back(k, OWNER(n, struct sim_call, event)); break;
        case SIM_EVENT_LIMIT: sim_finish_run(k, SIM_END_LIMIT); break;
        }
    }
    return k->ended ? NULL : t;
}

void sim_after_switch(struct sim_kernel *k)
{
    if (k->remains) {
        sim_fiber_close(k->remains);
        k->remains = NULL;
    }
}

/* Gives up control for `t` (NULL: for the caller of sim_kernel_run) until it runs again. */
void sim_leave(struct sim_kernel *k, struct sim_thread_inside *t)
{
    k->running = NULL;
    struct sim_thread_inside *next = next_thread(k);
    k->running = next;
    if (next && next == t)
        return;
    struct sim_fiber *from = k->host;
    k->host = next ? &next->fiber : &k->outside;
    if (from == k->host)
        return;
    sim_fiber_switch(from, k->host);
    sim_after_switch(k);
}

/* ---- using time */

/* Calls the function of the thread's CPU timer. Adds the charges of the call to the thread's remaining compute. */
static void interrupt_compute(struct sim_kernel *k, struct sim_thread_inside *t)
{
    uint64_t left_ns = t->left_ns, asked_ns = t->shown.compute_ns;
    t->shown.compute_left_ns = asked_ns < left_ns ? asked_ns : left_ns;
    sim_cpu_timer_call(t);
    sim_account(k, t);
    t->left_ns = left_ns + t->shown.debt_ns;
    t->shown.debt_ns = 0;
    t->shown.compute_ns = asked_ns;
}

/* Makes the thread compute its charges and `ns` more. */
static void thread_compute(struct sim_kernel *k, struct sim_thread_inside *t, uint64_t ns)
{
    sim_account(k, t);
    t->left_ns = t->shown.debt_ns + ns;
    t->shown.compute_ns = ns;
    for (;;) {
        k->running = NULL;
        k->taken = sim_heap_exchange(&k->events, &t->core->event, event_time(k, t->core));
        sim_leave(k, t);
        if (t->clock.period_ns)
            sim_cpu_timer_check(t);
        while (t->clock_rings && !t->in_kernel)
            interrupt_compute(k, t);
        if (!t->left_ns)
            break;
    }
    t->shown.compute_ns = 0;
    t->shown.compute_left_ns = 0;
    t->shown.debt_ns = 0;
}

/* Advances time directly and returns true when no event comes before; most computes end here. Otherwise returns
 * false. */
static bool passes_quietly(struct sim_kernel *k, struct sim_thread_inside *t, uint64_t ns)
{
    uint64_t next = sim_heap_least(&k->events);
    uint64_t until = next < t->core->slice_end_ns ? next : t->core->slice_end_ns;
    if (t->clock.period_ns) {
        uint64_t due = sim_cpu_timer_due(k, t);
        until = due < until ? due : until;
    }
    if (until <= k->now_ns || ns >= until - k->now_ns)
        return false;
    t->shown.debt_ns = 0;
    k->now_ns += ns;
    return true;
}

void sim_compute(uint64_t ns)
{
    struct sim_kernel *k = sim_kernel_current;
    assert(k && k->running);
    struct sim_thread_inside *t = k->running;
    if (k->options.schedule == SIM_ADVERSARIAL)
        ns = sim_adversary_compute(k, ns);
    if (!passes_quietly(k, t, t->shown.debt_ns + ns))
        thread_compute(k, t, ns);
}

void sim_compute_in_kernel(uint64_t ns)
{
    struct sim_thread_inside *t = sim_enter();
    t->in_kernel = true;
    sim_compute(ns);
    t->in_kernel = false;
    if (t->clock_rings)
        thread_compute(t->kernel, t, 0);
}

void sim_leave_kernel(void)
{
    struct sim_kernel *k = sim_kernel_current;
    assert(k && k->running);
    if (k->running->shown.debt_ns)
        sim_compute_in_kernel(0);
}

void sim_pay_debt(struct sim_kernel *k, struct sim_thread_inside *t)
{
    if (!passes_quietly(k, t, t->shown.debt_ns))
        thread_compute(k, t, 0);
}

/* The running thread, which computes nothing, leaves its core although it is runnable. Returns when it has a core
 * again. */
static inline void give_up_core(struct sim_kernel *k, struct sim_thread_inside *t)
{
    t->shown.involuntary_switches++;
    k->running = NULL;
    sim_off_core(k, t, false);
    if (!k->has_lines)
        sim_refill(k);
    core_queue_thread(k, t);
    sim_refill(k);
    sim_leave(k, t);
}

/* Takes the core from a thread that has used its turn, if another thread is due. The running thread leaves it before
 * the call returns. */
void sim_check_turn(struct sim_thread_inside *t)
{
    struct sim_kernel *k = t->kernel;
    if (!k->has_lines)
        return;
    sim_enter_any(k);
    struct sim_core *core = t->core;
    if (!core || core->thread != t || core->arriving || t->errand || !sim_line_gives_way(k, core, false))
        return;
    if (t != k->running) {
        preempt(k, core);
        return;
    }
    sim_account(k, t);
    t->left_ns = 0; /* a compute that the thread's CPU timer has interrupted goes on after the timer's function */
    give_up_core(k, t);
}

void sim_yield(void)
{
    struct sim_thread_inside *t = sim_enter();
    struct sim_kernel *k = t->kernel;
    if (!k->ready.count && !(k->has_lines && t->core->line_ready))
        return;
    if (k->has_lines)
        t->fair_ns = t->deadline_ns;
    for (uint32_t i = 1; i <= k->ready.count && k->options.schedule == SIM_FAIR; i++) {
        uint64_t key = k->ready.entries[i].key;
        if (key >= NOT_REALTIME && key - NOT_REALTIME > t->fair_ns)
            t->fair_ns = key - NOT_REALTIME;
    }
    give_up_core(k, t);
}

/* Takes the running thread off its core for `ns`, although it is runnable. */
void sim_delay(struct sim_kernel *k, struct sim_thread_inside *t, uint64_t ns)
{
    t->delayed = true;
    t->shown.involuntary_switches++;
    k->running = NULL;
    sim_off_core(k, t, false);
    sim_heap_put(&k->events, &t->timer, sim_later(k->now_ns, ns));
    sim_refill(k);
    sim_leave(k, t);
}

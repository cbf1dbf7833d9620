/* Stopping threads where they stand, continuing them, and ending them.
 *
 *   request (signal) --signal_ns--> due -+- on a core: taken at once
 *                                        +- in line: taken when it comes on a core
 *                                        +- blocked: gets in line; its wait ends if it may (else: errand) */
#include "sim/kernel/inside.h"

static void stopper_done(struct sim_thread_inside *t, enum strobe_status status)
{
    struct sim_thread_inside *stopper = t->stopper;
    t->stopper = NULL;
    stopper->stop_status = status;
    sim_rouse(stopper, SIM_WAKE_THREAD, t);
}

static void thread_set_hold(struct sim_thread_inside *t, const struct sim_thread_inside *by)
{
    t->stopped = true;
    t->held_by = &by->shown;
    t->held_since_ns = t->kernel->now_ns;
    t->kernel->stopped++;
}

/* Completes a stop. The thread is off all cores and lines, and has a stopper. */
void sim_stop_taken(struct sim_thread_inside *t)
{
    t->stop_due = false;
    t->errand = false;
    thread_set_hold(t, t->stopper);
    stopper_done(t, STROBE_OK);
}

void sim_signal_due(struct sim_thread_inside *t)
{
    struct sim_kernel *k = t->kernel;
    if (t->shown.state == SIM_RUNNING) {
        t->shown.voluntary_switches++; /* the handler blocks until the thread is continued */
        sim_off_core(k, t, false);
        sim_stop_taken(t);
        sim_refill(k);
        return;
    }
    t->stop_due = true;
    if (t->shown.state != SIM_BLOCKED)
        return;
    if (sim_interruptible(t)) {
        sim_rouse(t, SIM_WAKE_INTERRUPT, NULL);
    } else {
        t->errand = true;
        sim_make_ready(k, t);
    }
}

/* Removes the thread from its line or core, so that it no longer runs by itself. */
static void remove_from_cores(struct sim_thread_inside *t)
{
    struct sim_kernel *k = t->kernel;
    sim_leave_line(k, t);
    if (t->delayed) {
        sim_heap_remove(&k->events, &t->timer);
        t->delayed = false;
    }
    if (t->core) {
        if (t->shown.state == SIM_RUNNING)
            t->shown.involuntary_switches++;
        sim_off_core(k, t, false);
    }
}

/* Withdraws the request that `stopper` waits for. */
void sim_stop_withdraw(struct sim_thread_inside *stopper)
{
    struct sim_thread_inside *t = stopper->stopping;
    t->stopper = NULL;
    t->stop_due = false;
    stopper->stop_status = STROBE_LATE;
    sim_heap_remove(&t->kernel->events, &t->signal);
    if (t->errand) {
        t->errand = false;
        remove_from_cores(t);
        sim_refill(t->kernel);
    }
}

/* Returns the delay of the signal. A thread that is on no core handles it when it comes on one, at no cost. */
static uint64_t fair_signal_ns(struct sim_kernel *k, const struct sim_thread_inside *t)
{
    const struct sim_lateness *late = &k->options.machine.stop;
    return t->shown.state == SIM_RUNNING && !sim_lateness_none(late) ? sim_lateness_draw(late, &k->chance)
                                                                     : k->options.signal_ns;
}

enum strobe_status sim_stop(struct sim_thread *thread, enum sim_stop_mode mode, uint64_t timeout_ns)
{
    struct sim_thread_inside *self = sim_enter(), *t = thread->inside;
    struct sim_kernel *k = self->kernel;
    if (thread->state == SIM_ENDED)
        return STROBE_GONE;
    assert(t != self);
    if (t->stopped || t->stopper)
        return STROBE_LATE;
    if (mode == SIM_STOP_AT_ONCE) {
        remove_from_cores(t);
        thread_set_hold(t, self);
        sim_refill(k);
        return STROBE_OK;
    }
    t->stopper = self;
    self->stopping = t;
    uint64_t takes_ns = k->options.schedule == SIM_FAIR ? fair_signal_ns(k, t) : sim_adversary_signal(k);
    sim_heap_put(&k->events, &t->signal, sim_later(k->now_ns, takes_ns));
    sim_block(self, SIM_WAIT_STOP, t, NULL, sim_later(k->now_ns, timeout_ns));
    return self->stop_status;
}

bool sim_charge_stopped(struct sim_thread *thread, uint64_t ns)
{
    struct sim_thread_inside *t = thread->inside;
    if (!t->stopped || thread->state != SIM_READY)
        return false;
    t->left_ns += ns;
    thread->debt_ns += ns;
    return true;
}

static void thread_release_hold(struct sim_thread_inside *t)
{
    struct sim_kernel *k = t->kernel;
    t->stopped = false;
    t->held_by = NULL;
    k->stopped--;
    if (t->shown.state != SIM_BLOCKED)
        t->shown.held_ns += k->now_ns - t->held_since_ns;
}

enum strobe_status sim_continue(struct sim_thread *thread)
{
    struct sim_thread_inside *t = thread->inside;
    sim_enter_any(t->kernel);
    if (!t->stopped)
        return STROBE_NO_ENTRY;
    thread_release_hold(t);
    if (thread->state != SIM_BLOCKED)
        sim_make_ready(t->kernel, t);
    return STROBE_OK;
}

void sim_held_by(struct sim_thread *thread, struct sim_thread *by)
{
    struct sim_thread_inside *t = thread->inside;
    sim_enter_any(t->kernel);
    if (!t->stopped)
        return;
    t->held_by = by;
    sim_deadlock_check(t->kernel, t);
}

uint32_t sim_stopped_count(const struct sim_kernel *k)
{
    return k->stopped;
}

/* Ends a thread that is off all cores and lines: wakes the threads that wait for its end, and releases its fiber. */
void sim_retire(struct sim_thread_inside *t, struct sim_thread_inside *by)
{
    struct sim_kernel *k = t->kernel;
    if (t->stopped)
        thread_release_hold(t);
    sim_heap_remove(&k->events, &t->signal);
    t->stop_due = false;
    t->errand = false;
    t->shown.state = SIM_ENDED;
    k->alive--;
    k->awaited -= !t->daemon;
    if (t->stopper)
        stopper_done(t, STROBE_GONE);
    sim_rouse_all(&t->joiners, by);
    if (k->host == &t->fiber) {
        t->fiber.ending = true;
        k->remains = &t->fiber;
    } else {
        sim_fiber_close(&t->fiber);
    }
    if (!k->awaited && !k->ended)
        sim_finish_run(k, SIM_END_DONE);
}

void sim_kill(struct sim_thread *thread)
{
    struct sim_thread_inside *t = thread->inside, *self = sim_enter_any(t->kernel);
    if (thread->state == SIM_ENDED)
        return;
    assert(t != self);
    if (t->waits == SIM_WAIT_STOP)
        sim_stop_withdraw(t);
    sim_end_wait(t);
    remove_from_cores(t);
    sim_retire(t, t);
    sim_pass_on(t);
    sim_refill(t->kernel);
}

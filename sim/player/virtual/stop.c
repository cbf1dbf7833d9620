/* Stops of a thread by a signal (engine/backend/linux/suspend.h), in virtual time. The virtual kernel stops the thread
 * where it stands, also in a wait, and gives its registers. */
#include "engine/backend/linux/suspend.h"

#include "engine/backend/linux/host_linux.h"
#include "sim/kernel/fiber.h"
#include "sim/kernel/kernel.h"
#include "sim/player/virtual/charge.h"
#include "sim/player/virtual/posix.h"
#include "sim/player/virtual/virtual.h"
#include "sim/score/wait_calls.h"

bool strobe_linux_may_interrupt(struct strobe_linux *l, uint32_t tid)
{
    (void)l, (void)tid;
    return true;
}

/* Charges the handler in which the thread stands. A thread that waits does not compute, so the sampler pays for it. */
static void charge_handler(struct sim_thread *t)
{
    double ns = sim_virtual_costs.suspend_target;
    if (sim_charge_stopped(t, (uint64_t)ns))
        sim_virtual_count(ns);
    else
        sim_virtual_charge(ns);
}

enum strobe_status strobe_linux_interrupt(struct strobe_linux *l, uint32_t tid, const strobe_a32 *blocked,
                                          uint64_t timeout_ns, struct strobe_regs *out)
{
    (void)l;
    const struct sim_posix_thread *t = sim_posix_thread_of(tid);
    struct sim_fiber_place place;
    if (!t || strobe_load_relaxed(blocked))
        return t ? STROBE_UNSUPPORTED : STROBE_GONE;
    sim_virtual_charge(sim_virtual_costs.suspend);
    enum strobe_status status = sim_stop(t->thread, SIM_STOP_AT_ONCE, timeout_ns);
    if (status != STROBE_OK)
        return status;
    if (!sim_place(t->thread, &place)) {
        sim_continue(t->thread);
        return STROBE_UNSUPPORTED;
    }
    *out = (struct strobe_regs){.pc = place.pc, .sp = place.sp, .fp = place.fp};
    charge_handler(t->thread);
    return STROBE_OK;
}

enum strobe_status strobe_linux_suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                        struct strobe_regs *out)
{
    return strobe_linux_interrupt(ctx, tid, blocked, timeout_ns, out);
}

/* The file of a thread's system call takes as long to read as that of its state (loader.c). */
uint64_t strobe_linux_wait_call_once(void *ctx, uint32_t tid)
{
    enum { CALLS = 3 };
    static const enum strobe_kind kinds[] = {[SIM_BLOCKED_BY_TIME] = STROBE_KIND_SLEEP,
                                             [SIM_BLOCKED_BY_DEVICE] = STROBE_KIND_READ,
                                             [SIM_BLOCKED_BY_THREAD] = STROBE_KIND_COND};
    (void)ctx;
    sim_virtual_charge(CALLS * sim_virtual_costs.usage);
    sim_compute(0);
    const struct sim_posix_thread *t = sim_posix_thread_of(tid);
    return t ? sim_wait_call(kinds[sim_blocked_by(t->thread)]) : 0;
}

uint64_t strobe_linux_wait_call(void *ctx, uint32_t tid)
{
    return strobe_linux_wait_call_once(ctx, tid);
}

enum strobe_status strobe_linux_resume(void *ctx, uint32_t tid)
{
    (void)ctx;
    const struct sim_posix_thread *t = sim_posix_thread_of(tid);
    sim_virtual_charge(sim_virtual_costs.resume);
    sim_compute(0); /* the costs of the stop pass before the thread runs again */
    return t && sim_continue(t->thread) == STROBE_OK ? STROBE_OK : STROBE_LATE;
}

void strobe_linux_settle(void *ctx, uint32_t tid)
{
    (void)ctx, (void)tid;
}

bool strobe_linux_owns_signal(struct strobe_linux *l)
{
    return l->signal != 0;
}

enum strobe_status strobe_linux_take_signal(struct strobe_linux *l, int number, strobe_sigaction_fn *action,
                                            strobe_foreign_signal_fn *foreign)
{
    (void)action, (void)foreign;
    l->signal = number ? number : SIGRTMAX;
    return STROBE_OK;
}

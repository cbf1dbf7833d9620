#include "engine/backend/linux/preload/flight_thread.h"

#include "engine/backend/linux/lock_holder.h"
#include "engine/backend/linux/preload/control_thread.h"
#include "engine/backend/linux/preload/own_threads.h"
#include "engine/backend/linux/preload/preload.h"
#include "engine/backend/linux/preload/real.h"
#include "engine/backend/linux/word_wait.h"
#include "engine/capture/thread.h"
#include "engine/flight/flight_signals.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert((int)STROBE_FLIGHT_NO_MORE == (int)STROBE_CONTROL_END, "both threads end by one function");

static void (*flight_work)(void);

static void run_named_flight_thread(void)
{
    prctl(PR_SET_NAME, "strobe-flight");
    flight_work();
}

static bool run_linux_flight_thread(void (*work)(void))
{
    flight_work = work;
    return strobe_own_thread_start_lasting(run_named_flight_thread);
}

static uint32_t read_flight_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

/* The thread may leave the call meanwhile: the object and the kind may then be of two calls, and the holder is wrong or
 * not known. */
static void find_linux_holder(uint32_t thread, uint64_t *what, uint32_t *holder_tid)
{
    const struct strobe_thread *t = &strobe_preload.engine->threads[thread];
    if (!strobe_load_acquire(&t->ready) || !strobe_load_acquire(&t->entry->scope_begin_ticks))
        return;
    *what = strobe_load_relaxed(&t->scope_arg);
    *holder_tid =
        strobe_linux_lock_holder(&strobe_preload.host.host, strobe_load_relaxed(&t->entry->scope_kind), *what);
}

static void watch_linux_signals(struct strobe_flight *f)
{
    if (f->config.triggers >> STROBE_TRIGGER_CRASH & 1)
        strobe_flight_watch_crashes(f, strobe_real()->sigaction);
}

const struct strobe_flight_backend strobe_linux_flight = {
    .ticks = strobe_linux_now,
    .wait = strobe_linux_wait,
    .wake = strobe_linux_wake,
    .idle_ms = strobe_linux_find_idle_time,
    .blocked_on = find_linux_holder,
    .run_thread = run_linux_flight_thread,
    .thread_id = read_flight_tid,
    .read_device = strobe_flight_read_kernel,
    .watch_signals = watch_linux_signals,
    .leave_signals = strobe_flight_leave_signals,
};

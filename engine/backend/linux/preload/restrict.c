#include "engine/backend/linux/preload/restrict.h"

#include "engine/backend/common/embed/control.h"
#include "engine/backend/linux/preload/environment.h"
#include "engine/backend/linux/preload/forked.h"
#include "engine/backend/linux/preload/own_threads.h"
#include "engine/backend/linux/preload/preload.h"
#include "engine/backend/linux/preload/real.h"
#include "engine/backend/linux/preload/signals.h"
#include "engine/method/entry.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPINS_MAX = 1 << 28 }; /* some tenths of a second */

_Thread_local bool strobe_restricted;

bool strobe_restrict_by_prctl(int option, unsigned long mode)
{
    return option == PR_SET_SECCOMP && (mode == SECCOMP_MODE_STRICT || mode == SECCOMP_MODE_FILTER);
}

bool strobe_restrict_by_seccomp(unsigned long operation)
{
    return operation == SECCOMP_SET_MODE_STRICT || operation == SECCOMP_SET_MODE_FILTER;
}

static void mark_restricted(struct strobe_thread_entry *e)
{
    e->end_ticks = strobe_preload.host.host.ticks(&strobe_preload.host);
    strobe_store_release(&e->state, STROBE_THREAD_RESTRICTED);
}

/* Waits until no pass of the sampler that began earlier is active. Such a pass may still stop this thread. Its signal
 * is delivered during one of these calls at the latest. */
static void wait_for_sampler(void)
{
    struct timespec pause = {0, 100 * 1000};
    strobe_fence_seq_cst();
    do
        syscall(SYS_nanosleep, &pause, NULL);
    while (strobe_load_acquire(&strobe_preload.engine->sampler_busy));
}

/* Keeps a signal from the sampler or from the thread's CPU clock pending, because the handler makes system calls. */
static void block_stop_signal(int how)
{
    sigset_t only;
    if (!strobe_preload.host.signal)
        return;
    sigemptyset(&only);
    sigaddset(&only, strobe_preload.host.signal);
    strobe_real()->pthread_sigmask(how, &only, NULL);
}

static void stop_recording_thread(void)
{
    struct strobe_thread *t = strobe_preload_thread();
    if (strobe_entry_local.thread) {
        uint32_t index = strobe_entry_local.thread - 1;
        strobe_entry_end();
        mark_restricted(&strobe_preload.engine->session.threads[index]);
    }
    if (!t)
        return;
    if (!strobe_load_relaxed(&t->inside))
        strobe_thread_detach(t);
    mark_restricted(t->entry);
    wait_for_sampler();
    block_stop_signal(SIG_BLOCK);
}

static void stop_recording_process(void)
{
    struct strobe_session *s = &strobe_preload.engine->session;
    uint32_t count = strobe_session_thread_count(s);
    strobe_preload_close();
    strobe_own_threads_stop();
    strobe_control_end();
    strobe_signals_restore();
    for (uint32_t i = 0; i < count; i++)
        if (strobe_load_relaxed(&s->threads[i].state) == STROBE_THREAD_LIVE)
            mark_restricted(&s->threads[i]);
    strobe_preload.started = false;
}

void strobe_restrict_begin(bool all_threads)
{
    if (!strobe_restricted && strobe_forked_end()) {
        strobe_forked_leave_session();
        strobe_own_threads_stop();
    }
    if (strobe_restricted || !strobe_preload_is_recorded_process())
        return;
    if (all_threads)
        stop_recording_process();
    else
        stop_recording_thread();
}

/* After a failed call the thread is registered again as a new one. A closed session stays closed. */
void strobe_restrict_end(bool all_threads, bool done)
{
    if (strobe_restricted)
        return;
    if (done) {
        strobe_restrict_inherit();
    } else if (!all_threads && strobe_preload.started) {
        block_stop_signal(SIG_UNBLOCK);
        strobe_local.busy = 0;
    }
}

void strobe_restrict_inherit(void)
{
    strobe_restricted = true;
    strobe_local.busy = 1;
    strobe_local.thread = NULL;
    if (strobe_preload.follow)
        strobe_environment_hide();
}

void strobe_restrict_close(void)
{
    if (!strobe_preload.started || !strobe_own_threads_running())
        return;
    strobe_own_threads_ask_to_close();
    for (uint32_t i = 0; i < SPINS_MAX && !strobe_preload_is_closed(); i++)
        continue;
}

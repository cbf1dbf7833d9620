#include "engine/backend/linux/await_threads.h"

#include "engine/backend/linux/thread_state.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Steps of 200 us. */
enum { AWAIT_STEPS = 5000, MOVED_NS = 5000 };

/* Returns true when the thread has ended, waits, or has used CPU time since it had used `before_ns`. */
static bool has_moved_on(const struct strobe_host *host, uint32_t tid, uint64_t before_ns)
{
    uint64_t now_ns;
    return host->thread_cpu_ns(host->ctx, tid, &now_ns) != STROBE_OK || now_ns - before_ns >= MOVED_NS ||
           strobe_linux_thread_state(tid) != 'R';
}

void strobe_linux_await_threads(const struct strobe_host *host, const struct strobe_session *session)
{
    const struct timespec pause = {0, 200 * 1000};
    uint32_t own = (uint32_t)syscall(SYS_gettid), count = strobe_session_thread_count(session);
    int steps = AWAIT_STEPS;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t tid = session->threads[i].tid;
        uint64_t before_ns;
        if (tid == own || host->thread_cpu_ns(host->ctx, tid, &before_ns) != STROBE_OK)
            continue;
        while (!has_moved_on(host, tid, before_ns) && steps-- > 0)
            syscall(SYS_nanosleep, &pause, NULL);
    }
}

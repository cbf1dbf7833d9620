#include "engine/backend/linux/preload/forked.h"

#include "engine/backend/linux/preload/environment.h"
#include "engine/backend/linux/preload/real.h"
#include "engine/base/atomic.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STEP_NS = 20 * 1000 * 1000, PAUSE_NS = 200 * 1000, PAUSES_MAX = 1000 };
enum { NONE, WAITING, STARTING, STARTED, GONE, ENDED };

struct strobe_forked strobe_forked;

static strobe_a32 state;

static void sleep_for(long ns)
{
    struct timespec t = {0, ns};
    syscall(SYS_nanosleep, &t, NULL);
}

static uint64_t read_real_clock_ns(clockid_t id)
{
    struct timespec t = {0};
    strobe_real()->clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void strobe_forked_read_clocks(struct strobe_clock_pair *out)
{
    out->ticks = out->monotonic_ns = read_real_clock_ns(CLOCK_MONOTONIC);
    out->boottime_ns = read_real_clock_ns(CLOCK_BOOTTIME);
    out->realtime_ns = read_real_clock_ns(CLOCK_REALTIME);
}

/* Returns false in a child by vfork, which runs in its parent's memory. */
static bool is_own_process(void)
{
    return strobe_forked.pid && strobe_forked.pid == (uint32_t)syscall(SYS_getpid);
}

static bool change_forked_state(uint32_t from, uint32_t to)
{
    return strobe_cas_acq_rel(&state, &from, to);
}

bool strobe_forked_inherit(void)
{
    uint32_t was = strobe_load_acquire(&state);
    strobe_store_release(&state, NONE);
    return was == WAITING || was == STARTING || was == GONE;
}

void strobe_forked_begin(void)
{
    strobe_forked.pid = (uint32_t)syscall(SYS_getpid);
    strobe_store_release(&state, WAITING);
}

bool strobe_forked_wait(void)
{
    uint64_t waited_ns = 0;
    bool due;
    do {
        sleep_for(STEP_NS);
        waited_ns += STEP_NS;
        due =
            waited_ns >= STROBE_FORKED_WAIT_NS || read_real_clock_ns(CLOCK_PROCESS_CPUTIME_ID) >= STROBE_FORKED_CPU_NS;
        if (due && change_forked_state(WAITING, STARTING))
            return true;
    } while (strobe_load_acquire(&state) != ENDED);
    return false;
}

void strobe_forked_started(void)
{
    strobe_store_release(&state, STARTED);
}

static bool leave_waiting(uint32_t to)
{
    if (!is_own_process())
        return false;
    for (int i = 0; i < PAUSES_MAX && strobe_load_acquire(&state) == STARTING; i++)
        sleep_for(PAUSE_NS);
    return change_forked_state(WAITING, to);
}

bool strobe_forked_stop(void)
{
    return leave_waiting(GONE);
}

bool strobe_forked_end(void)
{
    return leave_waiting(ENDED);
}

bool strobe_forked_go_on(void)
{
    return is_own_process() && change_forked_state(GONE, WAITING);
}

void strobe_forked_leave_session(void)
{
    struct strobe_session s;
    struct strobe_clock_pair end;
    strobe_forked_read_clocks(&end);
    uint32_t index;
    if (!strobe_environment_child_session(strobe_forked.pid, &strobe_forked.config, &s))
        return;
    struct strobe_session_header *h = s.header;
    h->begin = strobe_forked.begin;
    long n = syscall(SYS_readlinkat, -100, "/proc/self/exe", h->exe, sizeof h->exe - 1);
    h->exe[n > 0 ? n : 0] = '\0';
    if (strobe_session_add_thread(&s, strobe_forked.pid, 1, h->begin.ticks, &index) == STROBE_OK) {
        prctl(PR_GET_NAME, s.threads[index].name);
        s.threads[index].end_ticks = end.ticks;
        strobe_store_release(&s.threads[index].state, STROBE_THREAD_ENDED);
    }
    strobe_session_finish(&s, &end);
}

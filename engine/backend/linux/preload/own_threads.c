#include "engine/backend/linux/preload/own_threads.h"

#include "engine/backend/common/embed/control.h"
#include "engine/backend/common/embed/flight_capture.h"
#include "engine/backend/linux/preload/preload.h"
#include "engine/backend/linux/preload/process.h"
#include "engine/backend/linux/preload/real.h"
#include "engine/backend/linux/preload/signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

long strobe_syscall_raw(long number, ...); /* hooks_jump.S */

enum {
    CHECK_NS = 4000000,  /* time between two checks for other threads */
    SLEEP_NS = 20000000, /* longest sleep without a check */
    OWN_THREADS_MAX = 2,
    LASTING_THREADS_MAX = 2,
    STOP_STEPS = 10000, /* steps of 200 us in which own threads must end */
};

_Thread_local bool strobe_own_thread_starts;

static strobe_a32 own_count, own_tid[OWN_THREADS_MAX];
static strobe_a32 lasting_count; /* threads in own_count that outlive the capture */
static strobe_a32 lasting_tid[LASTING_THREADS_MAX];
static void (*sleep_until)(void *ctx, uint64_t deadline_ticks); /* the host's original functions */
static void (*rest_until)(void *ctx, uint64_t deadline_ticks, strobe_a32 *word, uint32_t value);
static strobe_a32 newborn;               /* number of engine threads that have not reached run_own_thread yet */
static strobe_a32 waits_until_alone;     /* 1: engine threads wait at their end until they are alone */
static strobe_a32 returns_at_end;        /* 1: strobe_own_threads_stop waits for them: they return to the C library */
static strobe_a64 recorded_end;          /* number of recorded thread ends << 32 | status of the last one */
static strobe_a64 end_before_leader = 1; /* `recorded_end` + 1 if the last check found only the leader, else 0 */
static bool counted;                     /* the engine's threads are in the C library's count of threads */
static char *stacks;                     /* the next stack; NULL: the C library makes stacks */
static size_t stack_bytes;

/* ---- whether others are left ---- */

/* Returns whether the process's leader has ended. The leader stays a zombie until the last thread ends, and a zombie
 * has no program file. This check needs no descriptor. */
static bool is_leader_gone(void)
{
    char byte;
    return syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", &byte, 1ul) < 0 && errno == ENOENT;
}

/* Returns true when only the engine's threads and at most one other thread are left. Without /proc the count is 0, and
 * the result is false. */
static bool are_others_gone(void)
{
    uint64_t threads = strobe_process_thread_count();
    return threads > 1 && threads <= 1 + (uint64_t)strobe_load_relaxed(&own_count);
}

/* Returns true when only the engine's threads are left. The check of the leader costs several times what the count
 * does, so it runs only when no other thread is left. A leader may have started a thread just before it ended. It
 * cannot start another after its end, so a second count is reliable. */
bool strobe_own_threads_alone(void)
{
    bool others_gone = are_others_gone(), leader_gone = others_gone && is_leader_gone();
    if (!leader_gone)
        strobe_store_relaxed(&end_before_leader, others_gone ? strobe_load_relaxed(&recorded_end) + 1 : 0);
    return leader_gone && are_others_gone();
}

/* ---- start and end ---- */

/* Subtracts the new thread from the C library's count. The calling thread is in the count, so the count cannot reach 0
 * meanwhile. */
static void subtract_from_count(void)
{
    unsigned *threads = stacks ? NULL : dlsym(RTLD_DEFAULT, "__nptl_nthreads");
    counted = threads == NULL;
    if (threads)
        __atomic_fetch_sub(threads, 1, __ATOMIC_RELAXED);
}

/* Adds the calling thread to the C library's count, so that it may return to the C library. When no other thread is
 * left then, the C library calls exit(0), as it would have done for the program's last thread. */
static void add_to_count(void)
{
    unsigned *threads = dlsym(RTLD_DEFAULT, "__nptl_nthreads");
    if (threads)
        __atomic_fetch_add(threads, 1, __ATOMIC_RELAXED);
}

/* Returns the leader's status in the form of wait(2). It is the last number of the leader's stat file (proc(5)). */
static uint32_t leader_status(void)
{
    char text[1024];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
    long bytes = fd < 0 ? 0 : syscall(SYS_read, fd, text, sizeof text - 1);
    if (bytes <= 0)
        return 0;
    text[bytes] = '\0';
    const char *last = strrchr(text, ' ');
    return last ? (uint32_t)strtoul(last, NULL, 10) : 0;
}

/* Returns the status of the program's thread that ended last, in the form of wait(2). The status is the leader's when
 * the last check found only the leader and no end was recorded since. A thread of the C library that was never traced
 * ends with 0. */
static uint32_t last_status(void)
{
    uint64_t last = strobe_load_relaxed(&recorded_end);
    return strobe_load_relaxed(&end_before_leader) == last + 1 ? leader_status() : ((uint32_t)last & 0xff) << 8;
}

/* Ends the process with this status. When a seccomp filter or strict mode kills the program's last thread, the status
 * contains a signal, and the process must die by it. The engine's thread then sends that signal to itself. */
static void end_process_as(uint32_t status)
{
    int number = status & 0x7f;
    if (number) {
        strobe_signals_make_fatal(number);
        syscall(SYS_tgkill, (long)strobe_preload.host.pid, syscall(SYS_gettid), (long)number);
    }
    strobe_syscall_raw(SYS_exit, (long)(status >> 8));
}

/* Waits so that the engine's thread ends last. If it ended after the kernel has fixed the process's status but before
 * the program's last thread ends, the process would have the wrong status. */
static void wait_until_alone(void)
{
    struct timespec pause = {0, CHECK_NS};
    while (strobe_load_relaxed(&waits_until_alone) && !strobe_own_threads_alone())
        syscall(SYS_nanosleep, &pause, NULL);
}

static void store_own_tid(strobe_a32 *list, uint32_t most)
{
    for (uint32_t i = 0; i < most; i++) {
        uint32_t none = 0;
        if (strobe_cas_relaxed(&list[i], &none, (uint32_t)syscall(SYS_gettid)))
            return;
    }
}

static void begin_own_thread(void)
{
    strobe_local.busy = 1; /* hooks on this thread only call through */
    strobe_add_relaxed(&newborn, UINT32_MAX);
}

/* When only the server's thread is left, it must notice that. */
static void *run_own_thread(void *p)
{
    void (*routine)(void);
    *(void **)&routine = p;
    store_own_tid(own_tid, OWN_THREADS_MAX);
    begin_own_thread();
    routine();
    wait_until_alone();
    bool returns = counted || strobe_load_acquire(&returns_at_end);
    if (returns && !counted)
        add_to_count();
    strobe_add_relaxed(&own_count, UINT32_MAX);
    strobe_control_look();
    strobe_flight_nudge();
    if (!returns)
        end_process_as(last_status());
    return NULL;
}

void strobe_own_thread_begin_lasting(void)
{
    store_own_tid(lasting_tid, LASTING_THREADS_MAX);
    begin_own_thread();
}

void strobe_own_thread_end_lasting(void)
{
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    for (int i = 0; i < LASTING_THREADS_MAX; i++)
        if (strobe_load_relaxed(&lasting_tid[i]) == tid)
            strobe_store_relaxed(&lasting_tid[i], 0);
    strobe_add_relaxed(&lasting_count, UINT32_MAX);
    strobe_add_relaxed(&own_count, UINT32_MAX);
}

static void *run_lasting_thread(void *p)
{
    void (*routine)(void);
    *(void **)&routine = p;
    strobe_own_thread_begin_lasting();
    routine();
    strobe_own_thread_end_lasting();
    if (!counted)
        end_process_as(last_status());
    return NULL;
}

/* Calls the outermost pthread_create, because a sanitizer's runtime that is linked into the program must know every
 * thread. The engine's hook comes later and only calls through. */
static bool start_detached(void *(*run)(void *), void (*routine)(void))
{
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_t attributes;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    if (stacks) {
        pthread_attr_setstack(&attributes, stacks, stack_bytes);
        stacks += stack_bytes;
    }
    strobe_add_relaxed(&own_count, 1);
    strobe_add_relaxed(&newborn, 1);
    strobe_own_thread_starts = true;
    strobe_real()->pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, &attributes, run, *(void **)&routine) == 0;
    pthread_attr_destroy(&attributes);
    strobe_own_thread_starts = false;
    strobe_real()->pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) {
        subtract_from_count();
        pthread_detach(thread);
    } else {
        strobe_add_relaxed(&own_count, UINT32_MAX);
        strobe_add_relaxed(&newborn, UINT32_MAX);
    }
    return started;
}

bool strobe_own_thread_start(void (*routine)(void))
{
    return start_detached(run_own_thread, routine);
}

static bool start_lasting(void *(*run)(void *), void (*routine)(void))
{
    strobe_add_relaxed(&lasting_count, 1);
    bool started = start_detached(run, routine);
    if (!started)
        strobe_add_relaxed(&lasting_count, UINT32_MAX);
    return started;
}

bool strobe_own_thread_start_lasting(void (*routine)(void))
{
    return start_lasting(run_lasting_thread, routine);
}

bool strobe_own_thread_start_helper(void *(*run)(void *))
{
    return start_lasting(run, NULL);
}

void strobe_own_threads_use_stacks(void *memory, size_t bytes)
{
    stacks = memory;
    stack_bytes = bytes;
}

void strobe_own_threads_ask_to_close(void)
{
    strobe_store_relaxed(&waits_until_alone, 1);
    strobe_store_relaxed(&strobe_preload.engine->sampler_stop, 1);
}

bool strobe_own_thread_newborn(void)
{
    return strobe_load_relaxed(&newborn) != 0;
}

bool strobe_own_threads_running(void)
{
    return strobe_load_relaxed(&own_count) != strobe_load_relaxed(&lasting_count);
}

static bool is_thread_gone(uint32_t tid)
{
    return !tid || (syscall(SYS_tgkill, (long)strobe_preload.host.pid, (long)tid, 0l) != 0 && errno == ESRCH);
}

static bool are_own_threads_gone(void)
{
    bool gone = !strobe_own_threads_running();
    for (int i = 0; i < OWN_THREADS_MAX; i++)
        gone = gone && is_thread_gone(strobe_load_relaxed(&own_tid[i]));
    return gone;
}

bool strobe_own_threads_stop(void)
{
    struct timespec pause = {0, 200 * 1000};
    strobe_store_release(&returns_at_end, 1);
    strobe_store_relaxed(&strobe_preload.engine->sampler_stop, 1);
    for (int step = 0; step < STOP_STEPS; step++) {
        if (are_own_threads_gone()) {
            for (int i = 0; i < OWN_THREADS_MAX; i++)
                strobe_store_relaxed(&own_tid[i], 0);
            strobe_store_relaxed(&returns_at_end, 0);
            return true;
        }
        syscall(SYS_nanosleep, &pause, NULL);
    }
    return false;
}

bool strobe_own_threads_outlive(uint32_t tid)
{
    for (int i = 0; i < LASTING_THREADS_MAX; i++)
        if (strobe_load_relaxed(&lasting_tid[i]) == tid)
            return true;
    return false;
}

void strobe_own_threads_note_exit(uint32_t status)
{
    uint64_t before = strobe_load_relaxed(&recorded_end);
    while (!strobe_cas_relaxed(&recorded_end, &before, ((before >> 32) + 1) << 32 | status))
        continue;
}

void strobe_own_threads_forget(void)
{
    strobe_store_relaxed(&own_count, 0);
    strobe_store_relaxed(&lasting_count, 0);
    strobe_store_relaxed(&newborn, 0);
    for (int i = 0; i < OWN_THREADS_MAX; i++)
        strobe_store_relaxed(&own_tid[i], 0);
    for (int i = 0; i < LASTING_THREADS_MAX; i++)
        strobe_store_relaxed(&lasting_tid[i], 0);
    strobe_store_relaxed(&returns_at_end, 0);
    strobe_store_relaxed(&waits_until_alone, 0);
    strobe_store_relaxed(&recorded_end, 0);
    strobe_store_relaxed(&end_before_leader, 1);
}

/* ---- looking at times ---- */

static void check_for_others(uint64_t now)
{
    static strobe_a64 check_ticks;
    if (now < strobe_load_relaxed(&check_ticks))
        return;
    strobe_store_relaxed(&check_ticks, now + CHECK_NS);
    if (strobe_own_threads_alone())
        strobe_store_relaxed(&strobe_preload.engine->sampler_stop, 1);
}

static void sleep_and_check(void *ctx, uint64_t deadline_ticks)
{
    const struct strobe_host *h = &strobe_preload.host.host;
    for (;;) {
        uint64_t now = h->ticks(ctx), step = now + SLEEP_NS;
        check_for_others(now);
        if (now >= deadline_ticks || strobe_load_relaxed(&strobe_preload.engine->sampler_stop))
            return;
        sleep_until(ctx, deadline_ticks < step ? deadline_ticks : step);
    }
}

/* Checks once only, because a rest is short. */
static void rest_and_check(void *ctx, uint64_t deadline_ticks, strobe_a32 *word, uint32_t value)
{
    check_for_others(strobe_preload.host.host.ticks(ctx));
    if (!strobe_load_relaxed(&strobe_preload.engine->sampler_stop))
        rest_until(ctx, deadline_ticks, word, value);
}

void strobe_own_threads_watch(struct strobe_host *host)
{
    sleep_until = host->sleep_until;
    rest_until = host->rest_until;
    host->sleep_until = sleep_and_check;
    host->rest_until = rest_and_check;
}

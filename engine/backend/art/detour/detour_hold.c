#include "engine/backend/art/detour/detour_hold.h"

#if defined(__x86_64__)

#include "engine/base/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { HOLD_STEP_NS = 100 * 1000, LIST_BYTES = 2048, DIRENT_NAME = 19 /* offset of the name in a linux_dirent64 */ };

/* A thread that was sent the signal. */
struct held_thread {
    uint32_t tid;
    strobe_a32 stands; /* 1: it is in the handler */
};

static struct {
    strobe_a32 number; /* of the present hold; 0 = there is none. Threads stand while it is theirs */
    uint32_t last;     /* number of the last hold */
    int signal;        /* of the present hold, and what it did before */
    struct sigaction before;
    const struct strobe_detour_moves *moves[STROBE_DETOURS_MAX]; /* of detours, which live as long as the process */
    strobe_a32 moves_count;
    struct held_thread thread[STROBE_DETOUR_HELD_MAX];
    strobe_a32 count;
} hold;

static strobe_a32 never_held; /* id of a thread; 0 = none */

void strobe_detour_never_hold(uint32_t tid)
{
    strobe_store_release(&never_held, tid);
}

static long hold_futex(int op, uint32_t value)
{
    return syscall(SYS_futex, &hold.number, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* ---- a held thread */

static void move_interrupted(ucontext_t *u)
{
    uintptr_t pc = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
    uint32_t count = strobe_load_acquire(&hold.moves_count);
    for (uint32_t k = 0; k < count; k++)
        for (size_t i = 1; i < hold.moves[k]->count; i++) /* the first instruction begins where the jump will */
            if (pc == (uintptr_t)hold.moves[k]->from[i])
                u->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)hold.moves[k]->to[i];
}

static struct held_thread *find_held(uint32_t tid)
{
    uint32_t count = strobe_load_acquire(&hold.count);
    for (uint32_t i = 0; i < count; i++)
        if (hold.thread[i].tid == tid)
            return &hold.thread[i];
    return NULL;
}

/* A late signal of an earlier hold carries another number, and does nothing. */
static void on_hold(int number, siginfo_t *info, void *context)
{
    (void)number;
    int saved = errno;
    uint32_t mine = (uint32_t)info->si_value.sival_int;
    struct held_thread *t = find_held((uint32_t)syscall(SYS_gettid));
    if (t && info->si_code == SI_QUEUE && strobe_load_acquire(&hold.number) == mine) {
        move_interrupted(context);
        strobe_store_release(&t->stands, 1);
        while (strobe_load_acquire(&hold.number) == mine)
            hold_futex(FUTEX_WAIT, mine);
    }
    errno = saved;
}

/* ---- the thread that holds */

static uint64_t hold_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int send_hold(uint32_t pid, uint32_t tid, int signal, uint32_t number)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = signal;
    info.si_code = SI_QUEUE;
    info.si_pid = (pid_t)pid;
    info.si_value.sival_int = (int)number;
    return syscall(SYS_rt_tgsigqueueinfo, pid, tid, signal, &info) == 0 ? 0 : errno;
}

/* Sends the signal to a thread that has not got it. */
static int hold_thread(uint32_t pid, uint32_t tid, int signal, uint32_t number)
{
    uint32_t count = strobe_load_relaxed(&hold.count);
    if (find_held(tid))
        return 0;
    if (count == STROBE_DETOUR_HELD_MAX)
        return EAGAIN;
    hold.thread[count].tid = tid;
    strobe_store_relaxed(&hold.thread[count].stands, 0);
    strobe_store_release(&hold.count, count + 1);
    int refused = send_hold(pid, tid, signal, number);
    if (refused == 0 || refused == EAGAIN) /* EAGAIN: the user has too many signals pending */
        return refused;
    strobe_store_relaxed(&hold.thread[count].stands, 1); /* it has ended */
    return refused == ESRCH ? 0 : refused;
}

/* Sends the signal to all threads of the list that have not got it. */
static int hold_listed(int fd, uint32_t pid, uint32_t own, int signal, uint32_t number)
{
    _Alignas(8) char list[LIST_BYTES];
    long bytes;
    while ((bytes = syscall(SYS_getdents64, fd, list, sizeof list)) > 0)
        for (long at = 0; at < bytes;) {
            uint16_t record;
            uint32_t tid = 0;
            memcpy(&record, list + at + 16, sizeof record);
            for (const char *c = list + at + DIRENT_NAME; *c >= '0' && *c <= '9'; c++)
                tid = tid * 10 + (uint32_t)(*c - '0');
            bool held = tid && tid != own && tid != strobe_load_acquire(&never_held);
            int refused = held ? hold_thread(pid, tid, signal, number) : 0;
            if (refused)
                return refused;
            at += record;
        }
    return bytes < 0 ? errno : 0;
}

/* Waits until all threads stand that were sent the signal, or have ended. */
static int await_held(uint32_t pid, uint64_t deadline)
{
    for (uint32_t i = 0; i < strobe_load_relaxed(&hold.count); i++)
        while (!strobe_load_acquire(&hold.thread[i].stands)) {
            struct timespec step = {0, HOLD_STEP_NS};
            if (syscall(SYS_tgkill, pid, hold.thread[i].tid, 0) != 0)
                break;
            if (hold_now_ns() > deadline)
                return ETIMEDOUT;
            syscall(SYS_nanosleep, &step, NULL);
        }
    return 0;
}

/* Threads that are not held may start others, so the list is read until it has no new thread. */
static int hold_all(int signal, uint32_t number)
{
    uint64_t deadline = hold_now_ns() + STROBE_DETOUR_HOLD_NS;
    uint32_t pid = (uint32_t)getpid(), own = (uint32_t)syscall(SYS_gettid), before;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    int refused = fd < 0 ? errno : 0;
    if (refused)
        return refused;
    do {
        before = strobe_load_relaxed(&hold.count);
        refused = lseek(fd, 0, SEEK_SET) == 0 ? hold_listed(fd, pid, own, signal, number) : errno;
        if (!refused)
            refused = await_held(pid, deadline);
    } while (!refused && strobe_load_relaxed(&hold.count) != before);
    close(fd);
    return refused;
}

/* Returns a real-time signal that nothing handles, with the engine's handler; 0 = there is none. */
static int take_hold_signal(struct sigaction *before)
{
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_hold;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&ours.sa_mask);
    for (int signal = SIGRTMAX; signal >= SIGRTMIN; signal--)
        if (sigaction(signal, NULL, before) == 0 && before->sa_handler == SIG_DFL &&
            sigaction(signal, &ours, NULL) == 0)
            return signal;
    return 0;
}

static void keep_moves(const struct strobe_detour_patch *patch, size_t count)
{
    uint32_t kept = 0;
    strobe_store_release(&hold.moves_count, 0);
    for (const struct strobe_detour_patch *p = patch; p < patch + count; p++)
        if (!p->refused && p->moves)
            hold.moves[kept++] = p->moves;
    strobe_store_release(&hold.moves_count, kept);
}

static void let_held_go(void)
{
    strobe_store_release(&hold.number, 0);
    hold_futex(FUTEX_WAKE, INT_MAX);
}

int strobe_detour_hold(const struct strobe_detour_patch *patch, size_t count)
{
    uint32_t number = ++hold.last ? hold.last : ++hold.last;
    hold.signal = take_hold_signal(&hold.before);
    if (!hold.signal)
        return EAGAIN;
    keep_moves(patch, count);
    strobe_store_relaxed(&hold.count, 0);
    strobe_store_release(&hold.number, number);
    int refused = hold_all(hold.signal, number);
    if (refused) /* the handler stays: a thread that gets the signal later would end the process without it */
        let_held_go();
    return refused;
}

void strobe_detour_release(void)
{
    let_held_go();
    sigaction(hold.signal, &hold.before, NULL);
}

#else

#include <stdint.h>

void strobe_detour_never_hold(uint32_t tid)
{
    (void)tid;
}

#endif

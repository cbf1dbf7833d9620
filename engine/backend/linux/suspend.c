#include "engine/backend/linux/suspend.h"

#include "engine/backend/linux/host_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { IDLE = 0, ASKED = 1, CLAIMED = 2, STOPPED = 3, STATE_MASK = 3, SEQUENCE_STEP = 4 };

/* The one request a process can have under way. */
static struct {
    strobe_a32 word;            /* sequence << 2 | state */
    strobe_a32 tid;             /* who is asked; 0 = nobody */
    struct strobe_regs regs;    /* written by the target between CLAIMED and STOPPED */
} request;

static struct strobe_linux *signal_owner;
static bool knows_states;

static long futex(strobe_a32 *word, int op, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

static struct timespec timespec_of_ns(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

/* ---- the target's side ---- */

static void save_registers(struct strobe_regs *r, const ucontext_t *u)
{
    memset(r, 0, sizeof *r);
#if defined(__x86_64__)
    static const uint8_t dwarf_order[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                            REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    const greg_t *g = u->uc_mcontext.gregs;
    for (int i = 0; i < 16; i++)
        r->general[i] = (uint64_t)g[dwarf_order[i]];
    r->general[16] = r->pc = (uint64_t)g[REG_RIP];
    r->sp = (uint64_t)g[REG_RSP];
    r->fp = (uint64_t)g[REG_RBP];
#elif defined(__aarch64__)
    for (int i = 0; i < 31; i++)
        r->general[i] = u->uc_mcontext.regs[i];
    r->general[31] = r->sp = u->uc_mcontext.sp;
    r->general[32] = r->pc = u->uc_mcontext.pc;
    r->fp = u->uc_mcontext.regs[29];
    r->lr = u->uc_mcontext.regs[30];
#else
#error "registers of this machine are not known"
#endif
}

/* Waits to be let go; when nobody comes back within the watchdog's time, lets itself go. */
static void stand_still(uint32_t stopped)
{
    struct timespec patience = timespec_of_ns(STROBE_LINUX_WATCHDOG_NS);
    while (strobe_load_acquire(&request.word) == stopped) {
        if (futex(&request.word, FUTEX_WAIT, stopped, &patience) == -1 && errno == ETIMEDOUT) {
            uint32_t expected = stopped;
            strobe_cas_acq_rel(&request.word, &expected, (stopped & ~(uint32_t)STATE_MASK) | IDLE);
        }
    }
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    struct strobe_linux *l = signal_owner;
    int saved = errno;
    bool ours = info->si_code == SI_QUEUE && info->si_value.sival_ptr == &request && (uint32_t)info->si_pid == l->pid;
    uint32_t asked = strobe_load_acquire(&request.word);
    if (!ours) {
        if (l->foreign)
            l->foreign(number, info, context);
    } else if ((asked & STATE_MASK) == ASKED &&
               strobe_load_relaxed(&request.tid) == (uint32_t)syscall(SYS_gettid)) {
        /* A late signal of an earlier request to this thread stops it for the present one: as good. */
        uint32_t idle = asked & ~(uint32_t)STATE_MASK;
        if (strobe_cas_acq_rel(&request.word, &asked, idle | CLAIMED)) {
            save_registers(&request.regs, context);
            strobe_store_release(&request.word, idle | STOPPED);
            futex(&request.word, FUTEX_WAKE, 1, NULL);
            stand_still(idle | STOPPED);
        }
    }
    errno = saved;
}

void strobe_linux_settle(void *ctx, uint32_t tid)
{
    (void)ctx;
    while (strobe_load_acquire(&request.tid) == tid &&
           (strobe_load_acquire(&request.word) & STATE_MASK) != IDLE)
        sched_yield();
}

/* ---- the sampler's side ---- */

/* Descriptors of /proc/self/task/TID/syscall, kept by thread: to open one costs more than the rest of a stop together.
 * Sampler only, in its own descriptor table. */
enum { PROBES = 64 };
static struct { uint32_t tid; int fd; } probes[PROBES];

static int open_of_task(uint32_t tid, const char *file)
{
    char path[64] = "/proc/self/task/", digits[12];
    size_t n = strlen(path), d = 0;
    do
        digits[d++] = (char)('0' + tid % 10);
    while (tid /= 10);
    while (d)
        path[n++] = digits[--d];
    memcpy(path + n, file, strlen(file) + 1);
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

static long read_probe(uint32_t tid, char *text, size_t bytes)
{
    uint32_t i = tid % PROBES;
    for (int tries = 0; tries < 2; tries++) {
        bool kept = probes[i].tid == tid;
        if (!kept) {
            if (probes[i].tid)
                syscall(SYS_close, probes[i].fd);
            probes[i].fd = open_of_task(tid, "/syscall");
            probes[i].tid = probes[i].fd < 0 ? 0 : tid;
            if (probes[i].fd < 0)
                return -1;
        }
        long got = syscall(SYS_pread64, probes[i].fd, text, bytes, 0l);
        if (got > 0)
            return got;
        /* An earlier thread of this id has ended: once more, with the present one's file. */
        syscall(SYS_close, probes[i].fd);
        probes[i].tid = 0;
        if (!kept)
            return -1;
    }
    return -1;
}

/* The state letter of TID/stat stands behind the last ')' of the thread's name. */
static bool runs_by_stat(uint32_t tid)
{
    char text[512];
    int fd = open_of_task(tid, "/stat");
    if (fd < 0)
        return true;
    long bytes = syscall(SYS_read, fd, text, sizeof text);
    syscall(SYS_close, fd);
    while (bytes > 2 && text[bytes - 1] != ')')
        bytes--;
    return bytes < 3 || bytes + 1 >= (long)sizeof text || text[bytes + 1] == 'R';
}

/* A running or runnable thread; also when its state can't be told. TID/syscall says "running", or where it sleeps. */
static bool runs(uint32_t tid)
{
    char text[32];
    if (!knows_states)
        return true;
    if (read_probe(tid, text, sizeof text) > 0)
        return text[0] == 'r';
    return runs_by_stat(tid);
}

/* The CPU clock of a thread that is on a processor moves between two looks. */
static bool cpu_clock_moves(struct strobe_linux *l, uint32_t tid)
{
    uint64_t first, second;
    return l->host.thread_cpu_ns(l, tid, &first) == STROBE_OK && l->host.thread_cpu_ns(l, tid, &second) == STROBE_OK &&
           second != first;
}

static void withdraw(uint32_t idle)
{
    strobe_store_release(&request.tid, 0);
    strobe_store_release(&request.word, idle);
}

/* False when the target did not get to its handler by the deadline, or the watchdog let it go before we looked. Once
 * the target has claimed the request it is on its way to STOPPED and is waited for. */
static bool wait_until_stopped(struct strobe_linux *l, uint32_t idle, uint64_t deadline)
{
    for (;;) {
        uint32_t seen = strobe_load_acquire(&request.word);
        if (seen != (idle | ASKED) && seen != (idle | CLAIMED))
            return seen == (idle | STOPPED);
        uint64_t now = l->host.ticks(l);
        if (now >= deadline && seen == (idle | ASKED) && strobe_cas_acq_rel(&request.word, &seen, idle))
            return false;
        struct timespec left = timespec_of_ns(now < deadline ? deadline - now : 1000000);
        futex(&request.word, FUTEX_WAIT, seen, &left);
    }
}

enum strobe_status strobe_linux_suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                        struct strobe_regs *out)
{
    struct strobe_linux *l = ctx;
    if (!cpu_clock_moves(l, tid) && !runs(tid))
        return STROBE_UNSUPPORTED;
    uint32_t idle = (strobe_load_relaxed(&request.word) & ~(uint32_t)STATE_MASK) + SEQUENCE_STEP;
    strobe_store_relaxed(&request.tid, tid);
    strobe_store_seq_cst(&request.word, idle | ASKED);
    strobe_fence_seq_cst();
    if (strobe_load_seq_cst(blocked)) {
        withdraw(idle);
        return STROBE_UNSUPPORTED;
    }

    siginfo_t info = {.si_signo = l->signal, .si_code = SI_QUEUE};
    info.si_pid = (pid_t)l->pid;
    info.si_value.sival_ptr = &request;
    if (syscall(SYS_rt_tgsigqueueinfo, (long)l->pid, (long)tid, (long)l->signal, &info) != 0) {
        bool gone = errno == ESRCH;
        withdraw(idle);
        return gone ? STROBE_GONE : STROBE_LATE;
    }

    if (!wait_until_stopped(l, idle, l->host.ticks(l) + timeout_ns)) {
        strobe_store_release(&request.tid, 0);
        return STROBE_LATE;
    }
    *out = request.regs;
    return STROBE_OK;
}

enum strobe_status strobe_linux_resume(void *ctx, uint32_t tid)
{
    (void)ctx, (void)tid;
    uint32_t stopped = (strobe_load_relaxed(&request.word) & ~(uint32_t)STATE_MASK) | STOPPED;
    uint32_t expected = stopped;
    bool held = strobe_cas_acq_rel(&request.word, &expected, stopped & ~(uint32_t)STATE_MASK);
    strobe_store_release(&request.tid, 0);
    if (!held)
        return STROBE_LATE;
    futex(&request.word, FUTEX_WAKE, 1, NULL);
    return STROBE_OK;
}

/* ---- start ---- */

enum strobe_status strobe_linux_take_signal(struct strobe_linux *l, int number, strobe_sigaction_fn *action,
                                            strobe_foreign_signal_fn *foreign)
{
    struct sigaction now, ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&ours.sa_mask);
    int highest = number ? number : SIGRTMAX, lowest = number ? number : SIGRTMIN;
    l->foreign = foreign;
    signal_owner = l;
    for (int s = highest; s >= lowest; s--) {
        if (action(s, NULL, &now) != 0 || now.sa_handler != SIG_DFL)
            continue;
        l->signal = s;
        if (action(s, &ours, NULL) == 0)
            return STROBE_OK;
    }
    l->signal = 0;
    return STROBE_UNSUPPORTED;
}

void strobe_linux_sampler_begins(void)
{
    struct sched_param least = {.sched_priority = 1};
    syscall(SYS_sched_setscheduler, 0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least);
    knows_states = syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) == 0;
}

#include "engine/backend/linux/suspend.h"

#include "engine/backend/linux/handshake.h"
#include "engine/backend/linux/host_linux.h"
#include "engine/backend/linux/thread_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static struct strobe_handshake request; /* a process has at most one */
static struct strobe_linux *signal_owner;
static bool can_read_states;

/* ---- how the hand-shake waits ---- */

static long futex(strobe_a32 *word, int op, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

bool strobe_handshake_sleep(strobe_a32 *word, uint32_t expected, uint64_t ns)
{
    struct timespec most = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    return futex(word, FUTEX_WAIT, expected, &most) == -1 && errno == ETIMEDOUT;
}

void strobe_handshake_wake(strobe_a32 *word)
{
    futex(word, FUTEX_WAKE, INT_MAX, NULL);
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
#elif defined(__arm__)
    const struct sigcontext *c = &u->uc_mcontext;
    const unsigned long core[16] = {c->arm_r0, c->arm_r1, c->arm_r2, c->arm_r3, c->arm_r4,  c->arm_r5,
                                    c->arm_r6, c->arm_r7, c->arm_r8, c->arm_r9, c->arm_r10, c->arm_fp,
                                    c->arm_ip, c->arm_sp, c->arm_lr, c->arm_pc};
    for (int i = 0; i < 16; i++)
        r->general[i] = core[i];
    r->general[16] = c->arm_cpsr;
    r->pc = c->arm_pc;
    r->sp = c->arm_sp;
    r->fp = c->arm_fp;
    r->lr = c->arm_lr;
#else
#error "registers of this machine are not known"
#endif
}

/* A signal stack belongs to the program. When it has little free space, a tick is only counted. */
enum { TICK_STACK_BYTES = 4096 };

static bool has_room_for_tick(const ucontext_t *u)
{
    uint64_t low = (uint64_t)(uintptr_t)u->uc_stack.ss_sp, here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    bool on_it = here >= low && here - low < u->uc_stack.ss_size;
    return !on_it || here - low >= TICK_STACK_BYTES;
}

/* Passes an instance that is not a request to the handler of CPU clock ticks. Returns false when it is no tick. */
static bool take_tick(const struct strobe_linux *l, const siginfo_t *info, const ucontext_t *context)
{
    struct strobe_regs regs;
    if (!l->tick)
        return false;
    if (!has_room_for_tick(context))
        return l->tick(info, NULL);
    save_registers(&regs, context);
    return l->tick(info, &regs);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    struct strobe_linux *l = signal_owner;
    int saved = errno;
    bool ours = info->si_code == SI_QUEUE && info->si_value.sival_ptr == &request && (uint32_t)info->si_pid == l->pid;
    uint32_t claimed;
    if (!ours) {
        if (!take_tick(l, info, context) && l->foreign)
            l->foreign(number, info, context);
    } else if (strobe_handshake_claim(&request, (uint32_t)syscall(SYS_gettid), &claimed)) {
        save_registers(&request.regs, context);
        strobe_handshake_stand(&request, claimed);
    }
    errno = saved;
}

void strobe_linux_settle(void *ctx, uint32_t tid)
{
    (void)ctx;
    strobe_handshake_settle(&request, tid);
}

/* ---- the sampler's side ---- */

/* Open descriptors of /proc/self/task/TID/syscall, one for each thread. An open costs more than the rest of a stop.
 * Sampler only, in its own descriptor table. */
enum { PROBES = 128 };
static struct {
    uint32_t tid;
    int fd;
} probes[PROBES];

static int open_task_file(uint32_t tid, const char *file)
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
            probes[i].fd = open_task_file(tid, "/syscall");
            probes[i].tid = probes[i].fd < 0 ? 0 : tid;
            if (probes[i].fd < 0)
                return -1;
        }
        long got = strobe_linux_pread(probes[i].fd, text, bytes, 0);
        if (got > 0)
            return got;
        /* An earlier thread with this id has ended. The second try opens the file of the present thread. */
        syscall(SYS_close, probes[i].fd);
        probes[i].tid = 0;
        if (!kept)
            return -1;
    }
    return -1;
}

/* Reads the thread's state letter, which follows the last ')' of the thread's name in TID/stat. */
static bool is_thread_runnable_by_stat(uint32_t tid)
{
    char text[512];
    int fd = open_task_file(tid, "/stat");
    if (fd < 0)
        return true;
    long bytes = syscall(SYS_read, fd, text, sizeof text);
    syscall(SYS_close, fd);
    while (bytes > 2 && text[bytes - 1] != ')')
        bytes--;
    return bytes < 3 || bytes + 1 >= (long)sizeof text || text[bytes + 1] == 'R';
}

/* Returns true when the thread runs or is runnable, or when its state is unknown. TID/syscall reads "running", or the
 * system call in which the thread sleeps. */
static bool is_thread_runnable(uint32_t tid)
{
    char text[32];
    if (!can_read_states)
        return true;
    if (read_probe(tid, text, sizeof text) > 0)
        return text[0] == 'r';
    return is_thread_runnable_by_stat(tid);
}

static long read_once(uint32_t tid, char *text, size_t bytes)
{
    int fd = open_task_file(tid, "/syscall");
    if (fd < 0)
        return -1;
    long got = syscall(SYS_read, fd, text, bytes);
    syscall(SYS_close, fd);
    return got;
}

/* Reads the call by `read_text`. When that fails, the thread has ended, or no thread's file can be read. */
static uint64_t read_wait_call(uint32_t tid, long (*read_text)(uint32_t tid, char *text, size_t bytes))
{
    enum { NUMBER_BYTES = 16 };
    static bool unreadable;
    char text[NUMBER_BYTES], own;
    int saved_errno = errno;
    long got = unreadable ? 0 : read_text(tid, text, sizeof text - 1);
    if (got <= 0 && !unreadable)
        unreadable = read_once((uint32_t)syscall(SYS_gettid), &own, 1) <= 0;
    errno = saved_errno;
    text[got > 0 ? got : 0] = '\0';
    return strobe_linux_parse_wait_call(text);
}

uint64_t strobe_linux_wait_call(void *ctx, uint32_t tid)
{
    (void)ctx;
    return can_read_states ? read_wait_call(tid, read_probe) : 0;
}

uint64_t strobe_linux_wait_call_once(void *ctx, uint32_t tid)
{
    (void)ctx;
    return read_wait_call(tid, read_once);
}

/* Returns true when the thread is on a processor: its CPU clock advances between two reads. */
static bool cpu_clock_moves(struct strobe_linux *l, uint32_t tid)
{
    uint64_t first, second;
    return l->host.thread_cpu_ns(l, tid, &first) == STROBE_OK && l->host.thread_cpu_ns(l, tid, &second) == STROBE_OK &&
           second != first;
}

bool strobe_linux_waits_for_processor(struct strobe_linux *l, uint32_t tid)
{
    return can_read_states && !cpu_clock_moves(l, tid) && is_thread_runnable(tid);
}

/* Returns the kernel's handler of the stop signal: the first word of the kernel's sigaction, or 0 on failure. The
 * handler is the engine's, or that of a library between: the host for Android calls the sigaction that the app has. */
static uintptr_t kernel_handler(const struct strobe_linux *l)
{
    uintptr_t now[8] = {0};
    return syscall(SYS_rt_sigaction, (long)l->signal, NULL, now, 8l) == 0 ? now[0] : 0;
}

/* Any thread may read the disposition, because it belongs to the process. */
bool strobe_linux_owns_signal(struct strobe_linux *l)
{
    if (strobe_load_relaxed(&l->signal_taken))
        return false;
    if (kernel_handler(l) == l->handler)
        return true;
    strobe_store_relaxed(&l->signal_taken, 1);
    return false;
}

/* Returns whether a text of TID/syscall is that of a thread that runs, or waits for a futex without a timeout: the
 * kernel restarts that call after a handler (signal(7)). */
static bool is_restarted(const char *text)
{
    enum { FUTEX_ARGUMENT = 4 };
    char number[12];
    size_t digits = 0;
    for (long n = SYS_futex; n; n /= 10)
        number[digits++] = (char)('0' + n % 10);
    while (digits && *text == number[digits - 1])
        text++, digits--;
    for (int i = 0; i < FUTEX_ARGUMENT && text; i++) {
        text = digits ? NULL : strchr(text, ' ');
        text = text ? text + 1 : NULL;
    }
    return text && !strncmp(text, "0x0 ", 4);
}

bool strobe_linux_may_interrupt(struct strobe_linux *l, uint32_t tid)
{
    char text[128];
    if (cpu_clock_moves(l, tid))
        return true;
    int fd = open_task_file(tid, "/syscall");
    if (fd < 0)
        return is_thread_runnable_by_stat(tid);
    long bytes = syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    return text[0] == 'r' || is_restarted(text);
}

enum strobe_status strobe_linux_suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                        struct strobe_regs *out)
{
    if (!cpu_clock_moves(ctx, tid) && !is_thread_runnable(tid))
        return STROBE_UNSUPPORTED;
    return strobe_linux_interrupt(ctx, tid, blocked, timeout_ns, out);
}

enum strobe_status strobe_linux_interrupt(struct strobe_linux *l, uint32_t tid, const strobe_a32 *blocked,
                                          uint64_t timeout_ns, struct strobe_regs *out)
{
    uint32_t asked;
    if (!strobe_linux_owns_signal(l) || !strobe_handshake_ask(&request, tid, blocked, &asked))
        return STROBE_UNSUPPORTED;
    siginfo_t info = {.si_signo = l->signal, .si_code = SI_QUEUE};
    info.si_pid = (pid_t)l->pid;
    info.si_value.sival_ptr = &request;
    if (syscall(SYS_rt_tgsigqueueinfo, (long)l->pid, (long)tid, (long)l->signal, &info) != 0) {
        bool gone = errno == ESRCH;
        strobe_handshake_withdraw(&request, asked);
        return gone ? STROBE_GONE : STROBE_LATE;
    }
    if (!strobe_handshake_await(&request, asked, &l->host, l->host.ticks(l) + timeout_ns))
        return STROBE_LATE;
    *out = request.regs;
    return STROBE_OK;
}

enum strobe_status strobe_linux_resume(void *ctx, uint32_t tid)
{
    (void)ctx, (void)tid;
    return strobe_handshake_resume(&request) ? STROBE_OK : STROBE_LATE;
}

/* ---- start ---- */

enum strobe_status strobe_linux_take_signal(struct strobe_linux *l, int number, strobe_sigaction_fn *action,
                                            strobe_foreign_signal_fn *foreign)
{
    struct sigaction now, ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    /* All signals. sigfillset omits the C library's own signals, which could cancel the thread in the handler. */
    memset(&ours.sa_mask, 0xff, sizeof ours.sa_mask);
    int highest = number ? number : SIGRTMAX, lowest = number ? number : SIGRTMIN;
    l->foreign = foreign;
    signal_owner = l;
    for (int s = highest; s >= lowest; s--) {
        if (action(s, NULL, &now) != 0 || now.sa_handler != SIG_DFL)
            continue;
        l->signal = s;
        if (action(s, &ours, NULL) == 0) {
            l->handler = kernel_handler(l);
            strobe_store_relaxed(&l->signal_taken, 0);
            return STROBE_OK;
        }
    }
    l->signal = 0;
    return STROBE_UNSUPPORTED;
}

void strobe_linux_sampler_begins(void)
{
    struct sched_param least = {.sched_priority = 1};
    memset(probes, 0, sizeof probes); /* an earlier sampler's descriptor table had them */
    syscall(SYS_sched_setscheduler, 0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least);
    can_read_states = syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) == 0;
}

#include "engine/cmd/attach/tracee.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STOP_TIMEOUT_MS = 200, MASK_BYTES = 8 };

/* ---- registers of this machine ---- */

#if defined(__x86_64__)

enum { RED_ZONE = 128, DIRECTION_FLAG = 0x400, VECTOR_SET = NT_X86_XSTATE, SYSCALL_BYTES = 2 };

static bool get_registers(pid_t tid, strobe_tracee_regs *r)
{
    return ptrace(PTRACE_GETREGS, tid, NULL, r) == 0;
}

static bool put_registers(pid_t tid, const strobe_tracee_regs *r)
{
    return ptrace(PTRACE_SETREGS, tid, NULL, r) == 0;
}

static void find_interrupted_call(struct strobe_tracee *t)
{
    t->waited = (long long)t->regs.orig_rax >= 0;
    t->call = t->waited ? (long)t->regs.orig_rax : -1;
}

static bool ended_with_eintr(const struct strobe_tracee *t)
{
    return t->waited && (long long)t->regs.rax == -EINTR;
}

static void make_call_again(struct strobe_tracee *t)
{
    t->regs.rax = t->regs.orig_rax;
    t->regs.rip -= SYSCALL_BYTES;
    t->regs.orig_rax = ~0ull;
}

/* The return address 0 is on the stack already: see strobe_tracee_call. */
static void set_call(strobe_tracee_regs *r, uint64_t function, uint64_t first, uint64_t second, uint64_t sp)
{
    r->rip = function;
    r->rdi = first;
    r->rsi = second;
    r->rsp = sp - 8;
    r->rax = 0;
    r->orig_rax = ~0ull;
    r->eflags &= ~(unsigned long long)DIRECTION_FLAG;
}

uint64_t strobe_tracee_third_argument(const struct strobe_tracee *t)
{
    return t->regs.rdx;
}

uint64_t strobe_tracee_sp(const struct strobe_tracee *t)
{
    return t->regs.rsp - RED_ZONE;
}

static uint64_t returned(const strobe_tracee_regs *r)
{
    return r->rax;
}

static bool returned_to_zero(const strobe_tracee_regs *r)
{
    return r->rip == 0;
}

/* The thread is inside a restartable sequence (rseq(2)): the kernel would forget the sequence when the thread runs
 * other code, and the thread would go on in it on another processor. */
static bool is_in_restartable_sequence(pid_t pid, pid_t tid)
{
    struct __ptrace_rseq_configuration c = {0};
    uint64_t sequence = 0;
    enum { SEQUENCE_OFFSET = 8 }; /* of rseq_cs in struct rseq */
    if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof c, &c) < 0 || !c.rseq_abi_pointer)
        return false;
    return !strobe_tracee_read(pid, c.rseq_abi_pointer + SEQUENCE_OFFSET, &sequence, sizeof sequence) || sequence;
}

#elif defined(__aarch64__)

enum { VECTOR_SET = NT_FPREGSET };

static const uint32_t SVC = 0xd4000001;

static bool get_registers(pid_t tid, strobe_tracee_regs *r)
{
    struct iovec v = {r, sizeof *r};
    return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &v) == 0;
}

/* Without a system call the kernel restarts none. */
static bool put_registers(pid_t tid, const strobe_tracee_regs *r)
{
    struct iovec v = {(void *)(uintptr_t)r, sizeof *r};
    return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &v) == 0;
}

/* The kernel has already prepared the restart: the next instruction makes the call, whose number is in x8. */
static void find_interrupted_call(struct strobe_tracee *t)
{
    uint32_t instruction = 0;
    t->waited = strobe_tracee_read(t->pid, t->regs.pc, &instruction, sizeof instruction) && instruction == SVC;
    t->call = t->waited ? (long)t->regs.regs[8] : -1;
}

/* The first argument of a call that has ended is lost. A thread with such a call does not wait in one. */
static bool ended_with_eintr(const struct strobe_tracee *t)
{
    (void)t;
    return false;
}

static void make_call_again(struct strobe_tracee *t)
{
    (void)t;
}

static void set_call(strobe_tracee_regs *r, uint64_t function, uint64_t first, uint64_t second, uint64_t sp)
{
    r->pc = function;
    r->regs[0] = first;
    r->regs[1] = second;
    r->regs[29] = r->regs[30] = 0;
    r->sp = sp;
}

uint64_t strobe_tracee_third_argument(const struct strobe_tracee *t)
{
    return t->regs.regs[2];
}

uint64_t strobe_tracee_sp(const struct strobe_tracee *t)
{
    return t->regs.sp;
}

static uint64_t returned(const strobe_tracee_regs *r)
{
    return r->regs[0];
}

static bool returned_to_zero(const strobe_tracee_regs *r)
{
    return r->pc == 0;
}

/* Only threads that wait in a call are used: SVE registers are not saved. */
static bool is_in_restartable_sequence(pid_t pid, pid_t tid)
{
    (void)pid, (void)tid;
    return false;
}

#endif

/* ---- waiting for a stop ---- */

static void on_alarm(int number)
{
    (void)number;
}

/* Waits for the next event of a thread. A timer ends the wait. */
static pid_t wait_for_event(pid_t tid, int *status, unsigned timeout_ms)
{
    struct sigaction act = {.sa_handler = on_alarm};
    struct itimerval timer = {{0, 1000}, {timeout_ms / 1000, timeout_ms % 1000 * 1000}}, off = {0};
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    pid_t got = waitpid(tid, status, __WALL);
    int saved = errno;
    setitimer(ITIMER_REAL, &off, NULL);
    errno = saved;
    return got;
}

static bool is_event_stop(int status)
{
    return status >> 16 == PTRACE_EVENT_STOP;
}

/* Waits until an interrupted thread stops. Signals that come first are delivered. */
static enum strobe_status await_ptrace_stop(pid_t tid)
{
    int status;
    for (;;) {
        if (wait_for_event(tid, &status, STOP_TIMEOUT_MS) < 0)
            return errno == EINTR ? STROBE_LATE : STROBE_GONE;
        if (!WIFSTOPPED(status))
            return STROBE_GONE;
        if (is_event_stop(status))
            return WSTOPSIG(status) == SIGTRAP ? STROBE_OK : STROBE_UNSUPPORTED;
        ptrace(PTRACE_CONT, tid, NULL, WSTOPSIG(status));
    }
}

/* ---- state ---- */

/* Returns true when a signal that the thread does not block is pending for it or for its process. */
static bool has_pending_signal(pid_t pid, pid_t tid, uint64_t mask)
{
    char path[64], line[256];
    uint64_t pending = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "SigPnd:", 7) || !strncmp(line, "ShdPnd:", 7))
            pending |= strtoull(line + 7, NULL, 16);
    if (f)
        fclose(f);
    return pending & ~mask;
}

static bool save_state(struct strobe_tracee *t)
{
    struct iovec vector = {t->vector, sizeof t->vector};
    if (!get_registers(t->tid, &t->regs) || ptrace(PTRACE_GETREGSET, t->tid, VECTOR_SET, &vector) != 0 ||
        ptrace(PTRACE_GETSIGMASK, t->tid, MASK_BYTES, &t->mask) != 0)
        return false;
    t->vector_bytes = vector.iov_len;
    find_interrupted_call(t);
    if (ended_with_eintr(t) && !has_pending_signal(t->pid, t->tid, t->mask))
        make_call_again(t);
    return true;
}

/* Returns true when the thread has ended, or is about to: ptrace then fails with EPERM, too. Keeps errno. */
static bool is_ending(pid_t pid, pid_t tid)
{
    char path[64], line[512] = "";
    int saved = errno;
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    FILE *f = fopen(path, "re");
    const char *name_end = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    if (f)
        fclose(f);
    errno = saved;
    return !name_end || name_end[1] != ' ' || strchr("ZX", name_end[2]);
}

enum strobe_status strobe_tracee_stop(struct strobe_tracee *t, pid_t pid, pid_t tid)
{
    memset(t, 0, offsetof(struct strobe_tracee, vector));
    t->pid = pid;
    t->tid = tid;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
        return errno == ESRCH || is_ending(pid, tid) ? STROBE_GONE : STROBE_IO;
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    enum strobe_status status = await_ptrace_stop(tid);
    if (status == STROBE_OK && (is_in_restartable_sequence(pid, tid) || !save_state(t)))
        status = STROBE_UNSUPPORTED;
    t->stopped = status == STROBE_OK;
    if (status == STROBE_UNSUPPORTED)
        ptrace(PTRACE_DETACH, tid, NULL, NULL);
    return status;
}

void strobe_tracee_release(struct strobe_tracee *t)
{
    struct iovec vector = {t->vector, t->vector_bytes};
    if (!t->stopped)
        return;
    ptrace(PTRACE_SETREGSET, t->tid, VECTOR_SET, &vector);
    put_registers(t->tid, &t->regs);
    ptrace(PTRACE_SETSIGMASK, t->tid, MASK_BYTES, &t->mask);
    ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
    t->stopped = false;
}

/* ---- calls ---- */

/* Group stops and other events of the call's thread do not concern the call. */
static enum strobe_status await_return(struct strobe_tracee *t, unsigned timeout_ms, uint64_t *result)
{
    strobe_tracee_regs now;
    int status;
    for (;;) {
        if (wait_for_event(t->tid, &status, timeout_ms) < 0 && errno == EINTR) {
            ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
            enum strobe_status stopped = await_ptrace_stop(t->tid);
            return stopped == STROBE_OK ? STROBE_LATE : stopped;
        }
        if (!WIFSTOPPED(status)) {
            t->stopped = false;
            return STROBE_GONE;
        }
        if (!is_event_stop(status) && WSTOPSIG(status) == SIGSEGV)
            break;
        ptrace(PTRACE_CONT, t->tid, NULL, NULL);
    }
    if (!get_registers(t->tid, &now) || !returned_to_zero(&now))
        return STROBE_BAD_INPUT;
    *result = returned(&now);
    return STROBE_OK;
}

enum strobe_status strobe_tracee_call_on(struct strobe_tracee *t, unsigned timeout_ms, uint64_t *result)
{
    ptrace(PTRACE_CONT, t->tid, NULL, NULL);
    return await_return(t, timeout_ms, result);
}

enum strobe_status strobe_tracee_call(struct strobe_tracee *t, uint64_t function, uint64_t first, uint64_t second,
                                      uint64_t sp, unsigned timeout_ms, uint64_t *result)
{
    static const uint64_t return_address = 0;
    uint64_t mask = ~(1ull << (SIGSEGV - 1));
    strobe_tracee_regs r = t->regs;
    sp &= ~15ull;
    set_call(&r, function, first, second, sp);
    if (!strobe_tracee_write(t->pid, sp - 8, &return_address, sizeof return_address) || !put_registers(t->tid, &r) ||
        ptrace(PTRACE_SETSIGMASK, t->tid, MASK_BYTES, &mask) != 0)
        return STROBE_IO;
    return strobe_tracee_call_on(t, timeout_ms, result);
}

/* ---- memory ---- */

bool strobe_tracee_read(pid_t pid, uint64_t from, void *to, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)from, bytes};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

bool strobe_tracee_write(pid_t pid, uint64_t to, const void *from, size_t bytes)
{
    struct iovec local = {(void *)(uintptr_t)from, bytes}, remote = {(void *)(uintptr_t)to, bytes};
    return process_vm_writev(pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

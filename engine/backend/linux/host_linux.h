/* The engine's host on Linux: clocks, counters, safe reads, and stopping a thread by a signal and a hand-shake.
 *
 * Ticks are CLOCK_MONOTONIC ns. Memory is read with process_vm_readv on ourselves (EFAULT instead of SIGSEGV), or,
 * where that call is missing, through /proc/self/mem.
 *
 * Why a signal: it is the one way to stop a thread of one's own process (ptrace wants another process and keeps
 * debuggers out). What a program may do against it, and what becomes of that:
 *
 *   blocks all signals      the preloaded pthread_sigmask and kin leave ours out of every set; a program that asks
 *                           the kernel directly makes its threads late: skipped, counted, left alone for a time
 *   ignores or handles it   the preloaded sigaction keeps the program's wish aside; instances that are not ours (told
 *                           by sender and value) are passed on to it
 *   steals it by sigwait    ours is left out of the awaited set
 *   installs a handler by   the sampler asks the kernel before it sends a signal, and sends none when the handler is
 *   asking the kernel       not ours
 *
 * A signal would end a blocking call with EINTR. So a thread publishes that it blocks before it calls, and the
 * sampler looks at that word after its request is visible; a full fence on either side orders them (settle). The fence
 * costs a blocking call some ns; membarrier(2), which would spare it, interrupts other processors at every stop and
 * takes nearly half of the sampler's time. A thread that sleeps in a call we do not hook is told by its state in /proc
 * and left alone, too.
 *
 * The hand-shake is handshake.h's. A sampler that dies leaves no thread stopped for longer than its watchdog's time,
 * and resume learns from it whether what was read is good. */
#ifndef STROBE_BACKEND_LINUX_HOST_LINUX_H
#define STROBE_BACKEND_LINUX_HOST_LINUX_H

#include "engine/host/host.h"

#include <signal.h>
#include <stdbool.h>
#include <time.h>

struct strobe_session_header;

typedef int strobe_clock_fn(clockid_t, struct timespec *);
typedef int strobe_sigaction_fn(int, const struct sigaction *, struct sigaction *);

/* What a signal meant for the program would have met; called with instances that are not ours. */
typedef void strobe_foreign_signal_fn(int number, siginfo_t *info, void *context);

/* Called in the handler of our signal with an instance that asks for no stop: it comes from the CPU clock of the
 * calling thread (cpu_clock.h), which was interrupted at `regs`, or is the program's own: false then. `regs` is NULL
 * where the handler runs on a signal stack with too little room to take a sample. */
typedef bool strobe_tick_fn(const siginfo_t *info, const struct strobe_regs *regs);

struct strobe_linux {
    struct strobe_host host; /* hand &linux->host to the engine */
    strobe_clock_fn *clock;  /* the C library's own, not a hook's */
    uint32_t pid;
    int signal;              /* 0 until strobe_linux_take_signal */
    uintptr_t handler;       /* what the kernel has for it since, see strobe_linux_owns_signal */
    strobe_a32 signal_taken; /* 1: the kernel has another handler for it; no thread is stopped any more */
    strobe_foreign_signal_fn *foreign;
    strobe_tick_fn *tick; /* NULL: no CPU clock ticks */
};

/* Fills in a host for this process. `clock` must not be hooked. Start only. */
void strobe_linux_init(struct strobe_linux *l, strobe_clock_fn *clock);

/* Installs the stop signal: `number`, or when 0 the highest real-time signal that is at its default. `action` must be
 * the C library's own. STROBE_UNSUPPORTED when none is free. Start only, one strobe_linux a process. */
enum strobe_status strobe_linux_take_signal(struct strobe_linux *l, int number, strobe_sigaction_fn *action,
                                            strobe_foreign_signal_fn *foreign);

/* To be called first by the sampler thread. Gives it an empty descriptor table of its own, so that it can look into
 * /proc without a descriptor of the program's changing its number; without that no state is looked at. And real-time
 * priority, where that is allowed: an ordinary thread that wakes up on a busy processor may have to wait until the
 * program makes a system call, and then sees nothing but programs that make system calls. */
void strobe_linux_sampler_begins(void);

/* pread64(2) from the kernel itself: the C library's is hooked. Sampler, window. */
long strobe_linux_pread(int fd, void *out, size_t bytes, uint64_t offset);

/* Clocks at one instant, for the session. Start and end. */
void strobe_linux_clock_pair(const struct strobe_linux *l, uint64_t *ticks, uint64_t *monotonic_ns,
                             uint64_t *boottime_ns, uint64_t *realtime_ns);

/* Stores the clocks of the begin, the rate of ticks and the path of the program in a session's header. Start only. */
void strobe_linux_begin_header(const struct strobe_linux *l, struct strobe_session_header *h);

#endif

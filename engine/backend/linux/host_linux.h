/* The engine's host on Linux: clocks, counters, safe reads, and stops of a thread by a signal and a handshake.
 *
 * Ticks are ns of CLOCK_MONOTONIC. Memory is read with process_vm_readv on the own process, which returns EFAULT where
 * a load would raise SIGSEGV. Where that call is missing, memory is read through /proc/self/mem.
 *
 * A signal is the only way to stop a thread of the own process: ptrace requires another process and excludes debuggers.
 * A program can interfere with the signal in four ways:
 *
 *   blocks all signals        the hooks of pthread_sigmask and its like remove the stop signal from every set. A
 *                             thread that blocks it by a system call is late: it is skipped, counted, and not stopped
 *                             for a time
 *   ignores or handles it     the hook of sigaction stores the program's disposition. The handler passes instances
 *                             that the engine did not send (it compares sender and value) on to that disposition
 *   takes it by sigwait       the hook removes the stop signal from the awaited set
 *   handles it by a raw call  the sampler reads the kernel's handler before it sends a signal, and sends none when the
 *                             handler is not the engine's
 *
 * A signal would end a blocking call with EINTR. So a thread sets a word before each blocking call, and the sampler
 * reads that word after its request is visible. A full fence on either side orders the two (settle). The fence costs a
 * blocking call some ns. membarrier(2) would avoid it, but it interrupts other processors at every stop and takes
 * nearly half of the sampler's time. A thread that sleeps in a call without a hook is recognized by its state in /proc,
 * and is not stopped either.
 *
 * handshake.h describes the handshake. When the sampler dies, a stopped thread resumes itself after the watchdog's
 * time. After a stop, resume returns whether the thread stayed stopped until then. */
#ifndef STROBE_BACKEND_LINUX_HOST_LINUX_H
#define STROBE_BACKEND_LINUX_HOST_LINUX_H

#include "engine/host/host.h"

#include <signal.h>
#include <stdbool.h>
#include <time.h>

struct strobe_session_header;

typedef int strobe_clock_fn(clockid_t, struct timespec *);
typedef int strobe_sigaction_fn(int, const struct sigaction *, struct sigaction *);

/* Called with each instance of the stop signal that is neither a request nor a tick. It does what the program's own
 * disposition of the signal would do. */
typedef void strobe_foreign_signal_fn(int number, siginfo_t *info, void *context);

/* Called in the handler of the stop signal with each instance that requests no stop. Such an instance comes from the
 * CPU clock of the calling thread (cpu_clock.h), which was interrupted at `regs`. Otherwise the instance belongs to the
 * program, and the function returns false. `regs` is NULL when the handler runs on a signal stack with too little space
 * to take a sample. */
typedef bool strobe_tick_fn(const siginfo_t *info, const struct strobe_regs *regs);

struct strobe_linux {
    struct strobe_host host; /* the engine gets &linux->host */
    strobe_clock_fn *clock;  /* the C library's or the kernel's function, not a hook */
    uint32_t pid;
    int signal;              /* 0 until strobe_linux_take_signal */
    uintptr_t handler;       /* the kernel's handler after that call, see strobe_linux_owns_signal */
    strobe_a32 signal_taken; /* 1: the kernel has another handler for it; no thread is stopped any more */
    strobe_foreign_signal_fn *foreign;
    strobe_tick_fn *tick; /* NULL: no CPU clock ticks */
};

/* Returns the time in ticks of the captures of this process, after the first strobe_linux_init. Threads that outlive a
 * capture use it, such as that of the control server: a capture that begins sets its strobe_linux up anew. Any thread.
 */
uint64_t strobe_linux_now(void);

/* Looks up the kernel's clock function, which takes memory from the heap at the first call. strobe_linux_init does the
 * same. Start only. */
void strobe_linux_find_clock(void);

/* Initializes a host for this process. `clock` must not be a hook. Start only. */
void strobe_linux_init(struct strobe_linux *l, strobe_clock_fn *clock);

/* Installs the handler of the stop signal: `number`, or when that is 0, the highest real-time signal with the default
 * disposition. `action` must be the C library's own. STROBE_UNSUPPORTED when no such signal is free. Start only, one
 * strobe_linux a process. */
enum strobe_status strobe_linux_take_signal(struct strobe_linux *l, int number, strobe_sigaction_fn *action,
                                            strobe_foreign_signal_fn *foreign);

/* The sampler thread calls this function first. The function gives the thread:
 *
 *   - an empty descriptor table. The sampler can then open files in /proc without a change to the numbers of the
 *     program's descriptors. When this fails, the sampler reads no thread states
 *   - real-time priority, where that is allowed. An ordinary thread that wakes up on a busy processor may have to wait
 *     until the program makes a system call. Samples would then show only code around system calls */
void strobe_linux_sampler_begins(void);

/* pread64(2) by a direct system call, because the C library's function is hooked. Sampler, window. */
long strobe_linux_pread(int fd, void *out, size_t bytes, uint64_t offset);

/* Reads the clocks at one instant, for the session. Start and end. */
void strobe_linux_clock_pair(const struct strobe_linux *l, uint64_t *ticks, uint64_t *monotonic_ns,
                             uint64_t *boottime_ns, uint64_t *realtime_ns);

/* Stores the clocks of the begin, the rate of ticks and the path of the program in a session's header. Start only. */
void strobe_linux_begin_header(const struct strobe_linux *l, struct strobe_session_header *h);

/* Writes the command line of this process to `out`: arguments joined by blanks, cut to `capacity` bytes with the NUL.
 * Any context. */
void strobe_linux_command(char *out, size_t capacity);

#endif

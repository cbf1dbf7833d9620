/* A thread of another process that is stopped by ptrace(2): its registers, and calls that it makes.
 *
 * A thread is seized and interrupted. Such a stop is no signal, so the program does not notice it. The kernel ends a
 * system call in which the thread waits, and restarts the call when the thread goes on. The restart depends on the
 * registers alone, so strobe_tracee_release restores all of them, with orig_rax.
 *
 * Some calls are not restarted by the kernel, such as epoll_wait (signal(7)). They would end with EINTR. The restored
 * registers then are those of a thread that is about to make the call again. Its timeout begins anew. When a signal is
 * pending, EINTR stays, because the signal would have ended the call.
 *
 * During a call all signals are blocked except SIGSEGV. The call returns to address 0. The fault there stops the thread
 * before the program can notice the signal. */
#ifndef STROBE_CMD_ATTACH_TRACEE_H
#define STROBE_CMD_ATTACH_TRACEE_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

enum { STROBE_TRACEE_VECTOR_BYTES = 16384 };

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "registers of this machine are not known"
#endif

typedef struct user_regs_struct strobe_tracee_regs;

struct strobe_tracee {
    pid_t pid, tid;
    bool stopped;
    bool waited; /* the stop has interrupted a system call */
    long call;   /* the number of that call */
    uint64_t mask;
    strobe_tracee_regs regs;
    size_t vector_bytes;
    char vector[STROBE_TRACEE_VECTOR_BYTES]; /* floating-point and vector registers */
};

/* Seizes and stops a thread, and saves its state. STROBE_GONE: it has ended. STROBE_UNSUPPORTED: it is stopped by a
 * signal, or it must not be disturbed now; it goes on. STROBE_LATE: it did not stop in time; it stays seized until this
 * process ends. STROBE_IO: ptrace failed (errno). */
enum strobe_status strobe_tracee_stop(struct strobe_tracee *t, pid_t pid, pid_t tid);

/* Restores the state and lets the thread go. */
void strobe_tracee_release(struct strobe_tracee *t);

/* Makes the stopped thread call a function of at most two arguments, on its stack below `sp`. STROBE_OK: *result is
 * what it returned. STROBE_LATE: it has not returned in `timeout_ms`, and is stopped inside the call. STROBE_GONE: the
 * thread has ended. STROBE_BAD_INPUT: the call faulted. */
enum strobe_status strobe_tracee_call(struct strobe_tracee *t, uint64_t function, uint64_t first, uint64_t second,
                                      uint64_t sp, unsigned timeout_ms, uint64_t *result);

/* Lets a call that was late go on. */
enum strobe_status strobe_tracee_call_on(struct strobe_tracee *t, unsigned timeout_ms, uint64_t *result);

/* Returns the third argument of the system call in which the thread waits. */
uint64_t strobe_tracee_third_argument(const struct strobe_tracee *t);

uint64_t strobe_tracee_sp(const struct strobe_tracee *t);

/* Copies memory of the process. Returns false when it is not mapped. */
bool strobe_tracee_read(pid_t pid, uint64_t from, void *to, size_t bytes);
bool strobe_tracee_write(pid_t pid, uint64_t to, const void *from, size_t bytes);

#endif

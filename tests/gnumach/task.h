/* A task of its own on GNU Mach: the only one there is. No C library: what it needs is here.
 *
 *   boot.S       entry, traps
 *   runtime.c    memory functions, messages, the console
 *   threads.c    threads
 *   calls.c      Mach calls that GNU Mach lacks (include/mach/mach.h)
 *   main.c       the rules of tests/contract_mach, then what is tested here; ends the machine
 *   backend.c    the backend's own sources */
#ifndef STROBE_GNUMACH_TASK_H
#define STROBE_GNUMACH_TASK_H

#include <mach/mach.h>
#include <stdbool.h>

enum { TASK_THREADS = 8, TASK_PAGE = 4096, TASK_STACK = 1 << 16 };

void mach_print(const char *text);
void print_number(uint32_t n);

/* A thread of that slot has ended: nothing comes for it any more. */
void task_drop_reply_port(unsigned slot);

/* Names of the port space that stand for a right. */
unsigned task_names(void);

/* The slot's thread (0 .. TASK_THREADS - 1) calls f(arg) and ends. MACH_PORT_NULL: can't. The port's right is the
 * slot's, until thread_join. */
thread_act_t thread_start(unsigned slot, void (*f)(void *), void *arg);

/* Returns when that thread has ended: its function has returned, or does. */
void thread_join(unsigned slot);

/* The caller sleeps for at least so long; the kernel's clock ticks every 10 ms. */
void thread_pass(unsigned ms);

/* The stack that an address lies on, for the threads started here. */
bool thread_stack(uintptr_t address, uintptr_t *low, uintptr_t *high);

/* Which slot the caller is of; TASK_THREADS: the task's first thread. */
unsigned thread_slot(void);

/* Measures the rate of the processor's counter. Before all that has to do with time. */
void clock_begin(mach_port_t host);

/* In units of mach_absolute_time. */
uint64_t clock_ticks(unsigned ms);

/* The caller waits in the kernel for a message, or sends one. `gate`: a receive right. */
void gate_wait(mach_port_t gate);
void gate_open(mach_port_t gate);

mach_msg_return_t mach_msg_trap(mach_msg_header_t *message, mach_msg_option_t option, mach_msg_size_t send_bytes,
                                mach_msg_size_t receive_bytes, mach_port_t receive_from, mach_msg_timeout_t timeout,
                                mach_port_t notify);

/* Tests, of which the last has no name. A check: NULL = holds, or what does not. */
struct task_test {
    const char *name;
    const char *(*check)(void);
};
extern const struct task_test backend_tests[];
const char *backend_check(const struct task_test *test);

/* Ends a check, when something does not hold. */
#define REQUIRE(holds)                                                                                                 \
    do {                                                                                                               \
        if (!(holds))                                                                                                  \
            return "does not hold: " #holds;                                                                           \
    } while (0)

#endif

/* A task on GNU Mach, the only one of the system. It has no C library; these files contain what it needs:
 *
 *   boot.S       entry, traps
 *   runtime.c    memory functions, messages, the console
 *   threads.c    threads
 *   calls.c      Mach calls that GNU Mach lacks (include/mach/mach.h)
 *   main.c       runs the rules of tests/contract_mach, then backend.c's tests; ends the machine
 *   backend.c    tests of the backend's sources */
#ifndef STROBE_GNUMACH_TASK_H
#define STROBE_GNUMACH_TASK_H

#include <mach/mach.h>
#include <stdbool.h>

enum { TASK_THREADS = 8, TASK_PAGE = 4096, TASK_STACK = 1 << 16 };

void mach_print(const char *text);
void print_number(uint32_t n);

/* Drops the reply port of the slot's thread, which has ended. */
void task_drop_reply_port(unsigned slot);

/* Returns the number of names in the port space that hold a right. */
unsigned task_names(void);

/* Starts a thread in the slot (0 .. TASK_THREADS - 1). It calls f(arg) and ends. The slot holds the port's right
 * until thread_join. MACH_PORT_NULL: it could not be started. */
thread_act_t thread_start(unsigned slot, void (*f)(void *), void *arg);

/* Waits until that thread has ended. Its function has returned or is about to return. */
void thread_join(unsigned slot);

/* Sleeps for at least `ms`; the kernel's clock ticks every 10 ms. */
void thread_pass(unsigned ms);

/* Returns the bounds of the stack that contains an address, for the threads started here. */
bool thread_stack(uintptr_t address, uintptr_t *low, uintptr_t *high);

/* Returns the slot of the calling thread; TASK_THREADS: the task's first thread. */
unsigned thread_slot(void);

/* Measures the rate of the processor's counter. Call it before any function that measures time. */
void clock_begin(mach_port_t host);

/* Converts to units of mach_absolute_time. */
uint64_t clock_ticks(unsigned ms);

/* Waits in the kernel for a message, or sends one. `gate`: a receive right. */
void gate_wait(mach_port_t gate);
void gate_open(mach_port_t gate);

mach_msg_return_t mach_msg_trap(mach_msg_header_t *message, mach_msg_option_t option, mach_msg_size_t send_bytes,
                                mach_msg_size_t receive_bytes, mach_port_t receive_from, mach_msg_timeout_t timeout,
                                mach_port_t notify);

/* A test; the entry after the last has no name. `check` returns NULL when it passes, else the failed condition. */
struct task_test {
    const char *name;
    const char *(*check)(void);
};
extern const struct task_test backend_tests[];
const char *backend_check(const struct task_test *test);

/* Returns from a check with the failed condition. */
#define REQUIRE(holds)                                                                                                 \
    do {                                                                                                               \
        if (!(holds))                                                                                                  \
            return "does not hold: " #holds;                                                                           \
    } while (0)

#endif

/* A task of its own on GNU Mach: the only one there is. No C library: what it needs is here.
 *
 *   boot.S       entry, traps
 *   runtime.c    memory functions, messages, the console
 *   threads.c    threads
 *   calls.c      Mach calls that GNU Mach lacks (include/mach/mach.h)
 *   main.c       the rules of tests/contract_mach; ends the machine */
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

/* The caller sleeps. The clock's ticks are of 10 ms. */
void thread_pass(unsigned ms);

/* The stack that an address lies on, for the threads started here. */
bool thread_stack(uintptr_t address, uintptr_t *low, uintptr_t *high);

/* Which slot the caller is of; TASK_THREADS: the task's first thread. */
unsigned thread_slot(void);

/* Measures the processor's counter. Before mach_absolute_time. */
void clock_begin(mach_port_t host);

#endif

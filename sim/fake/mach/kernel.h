/* Internals of the fake Mach, shared by its files.
 *
 * Every call of the contract is `enter, count, do, leave`. In between, its thread is in the kernel, where a suspend
 * does not stop it. Nothing here allocates from the heap, takes a lock of libc, or prints. */
#ifndef STROBE_SIM_FAKE_MACH_KERNEL_H
#define STROBE_SIM_FAKE_MACH_KERNEL_H

#include "sim/fake/mach/message.h"
#include "sim/fake/mach/system.h"

#include <stdatomic.h>

extern const struct fake_mach_system *fake_on;
extern bool fake_gnu; /* behaves like GNU Mach where that differs from XNU */

/* ---- a call (fault.c) */

struct fake_call {
    const char *name;
    _Atomic uint64_t count;
    struct fake_call *next;
    _Atomic bool listed;
};

/* Counts the call. Returns KERN_SUCCESS when the call shall be done, else the code that it returns without doing
 * anything. In the kernel. */
kern_return_t fake_call_counts(struct fake_call *call);

/* Enters the kernel, for the function that this is inlined into. Keeps its caller's registers. */
static inline __attribute__((always_inline)) void fake_into(void)
{
    struct fake_mach_place from = {
        .pc = (uint64_t)(uintptr_t)__builtin_return_address(0),
        .sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),
        .fp = *(const uint64_t *)__builtin_frame_address(0),
    };
    fake_on->enter(&from);
}

static inline __attribute__((always_inline)) kern_return_t fake_kernel_enter(struct fake_call *call)
{
    fake_into();
    return fake_call_counts(call);
}

static inline kern_return_t fake_kernel_leave(kern_return_t answer)
{
    fake_on->leave();
    return answer;
}

/* ---- ports (ports.c): all with the lock held */

enum fake_port_kind { FAKE_PORT_NONE, FAKE_PORT_TASK, FAKE_PORT_THREAD, FAKE_PORT_RECEIVE, FAKE_PORT_DEAD };

/* The object of a name; `object` is the thread or the receiver. */
struct fake_port {
    enum fake_port_kind kind;
    void *object;
};
struct fake_port fake_port_find(mach_port_name_t name);

/* Makes a new name with so many rights. MACH_PORT_NULL: no memory. */
mach_port_name_t fake_port_new(enum fake_port_kind kind, void *object, uint32_t rights);

/* Adds a right to a name. */
void fake_port_take(mach_port_name_t name);

/* Called when the object of a name has ended. libSystem releases `given_back` of its rights; the others become rights
 * to a dead name. */
void fake_port_dies(mach_port_name_t name, uint32_t given_back);

/* Returns KERN_SUCCESS when `task` is this task's port, `unless` for a port of another kind, and MACH_SEND_INVALID_DEST
 * for no port. */
kern_return_t fake_task_check(mach_port_name_t task, kern_return_t unless);

/* Does the same without the lock held. */
kern_return_t fake_task_answers(mach_port_name_t task, kern_return_t unless);

/* Drops all names except the task's. */
void fake_ports_forget(void);

/* ---- threads (thread.c): with the lock held, too */

/* libpthread has one right for each thread, which counts among the rights of the name. Releasing too many rights
 * releases it. */
struct fake_thread;
struct fake_thread *fake_thread_of(uint64_t id);          /* made when it is not known yet; NULL: no memory */
mach_port_name_t fake_thread_port(struct fake_thread *t); /* MACH_PORT_NULL: no free entry */
void fake_thread_unnamed(struct fake_thread *t);          /* its last right was released */
void fake_thread_check_end(struct fake_thread *t);        /* checks whether it has ended */
uint32_t fake_threads_implied(void);                      /* rights of libpthread */
void fake_threads_forget(void);

/* Returns the one thread-local variable, a pointer. A system that switches threads must switch its content. */
void *fake_thread_local(void);

/* Calls run(arg) as the thread's outermost function (rooted.S). */
void *fake_rooted(void *(*run)(void *), void *arg);

/* Without the lock held. */
mach_port_name_t fake_thread_name_of(uint64_t id);
time_value_t fake_time_value(uint64_t ns);
enum { FAKE_POLICY_TIMESHARE = 1 };

/* ---- memory (vm.c) */

kern_return_t fake_vm_allocate(vm_address_t *address, vm_size_t bytes);

/* ---- time (clock.c) */

uint64_t fake_ticks(uint64_t ns);
uint64_t fake_ns(uint64_t ticks); /* time at which the clock shows these ticks; UINT64_MAX: never */

/* ---- counts that threads wait for (counter.c): semaphores of all kinds. Zero bytes and a value make one */

struct fake_counter {
    _Atomic uint32_t lock, word;
    uint32_t value, waiting, granted;
};

/* Takes one, and waits for it until `at`. Returns false when the time is over. */
bool fake_counter_take(struct fake_counter *c, uint64_t at);

/* Adds one, or one for each waiter. Returns true when a thread waited. */
bool fake_counter_give(struct fake_counter *c, bool to_all);

/* Sleeps like sleep_on, in the kernel during that time. */
bool fake_wait_on(_Atomic uint32_t *word, uint32_t seen, uint64_t at);

#endif

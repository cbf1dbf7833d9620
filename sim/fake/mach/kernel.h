/* The fake Mach's inside: what its files have of each other.
 *
 * Every call of the contract is `enter, count, do, leave`: in between its thread is in the kernel, where a suspend does
 * not stop it; nothing in here allocates from the heap, takes a lock of libc's, or prints. */
#ifndef STROBE_SIM_FAKE_MACH_KERNEL_H
#define STROBE_SIM_FAKE_MACH_KERNEL_H

#include "sim/fake/mach/message.h"
#include "sim/fake/mach/system.h"

#include <stdatomic.h>

extern const struct fake_mach_system *fake_on;
extern bool fake_gnu; /* answers as GNU Mach does where that differs from XNU */

/* ---- a call (fault.c) */

struct fake_call {
    const char *name;
    _Atomic uint64_t count;
    struct fake_call *next;
    _Atomic bool listed;
};

/* Counts it; what it is to answer instead of doing anything, KERN_SUCCESS when it is to be done. In the kernel. */
kern_return_t fake_call_counts(struct fake_call *call);

/* Into the kernel, for the function that this is compiled into; its caller's registers are kept. */
static inline __attribute__((always_inline)) void fake_into(void)
{
    struct fake_mach_place from = {
        .pc = (uint64_t)(uintptr_t)__builtin_return_address(0),
        .sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),
        .fp = *(const uint64_t *)__builtin_frame_address(0),
    };
    fake_on->enter(&from);
}

static inline __attribute__((always_inline)) kern_return_t fake_enter(struct fake_call *call)
{
    fake_into();
    return fake_call_counts(call);
}

static inline kern_return_t fake_leave(kern_return_t answer)
{
    fake_on->leave();
    return answer;
}

/* ---- ports (ports.c): all with the lock held */

enum fake_port_kind { FAKE_PORT_NONE, FAKE_PORT_TASK, FAKE_PORT_THREAD, FAKE_PORT_RECEIVE, FAKE_PORT_DEAD };

/* What a name stands for; `object` is the thread, or the receiver. */
struct fake_port {
    enum fake_port_kind kind;
    void *object;
};
struct fake_port fake_port_find(mach_port_name_t name);

/* A new name for something, with so many rights; MACH_PORT_NULL: no room. */
mach_port_name_t fake_port_new(enum fake_port_kind kind, void *object, uint32_t rights);

/* One more right for a name. */
void fake_port_take(mach_port_name_t name);

/* What it stood for has ended, and so many of the rights are given back by libSystem: the others become those of a dead
 * name. */
void fake_port_dies(mach_port_name_t name, uint32_t given_back);

/* KERN_SUCCESS: `task` is this task's port; of another kind: `unless`; of nothing: MACH_SEND_INVALID_DEST. */
kern_return_t fake_task_check(mach_port_name_t task, kern_return_t unless);

/* The same without the lock held. */
kern_return_t fake_task_answers(mach_port_name_t task, kern_return_t unless);

/* Drops all but the task's. */
void fake_ports_forget(void);

/* ---- threads (thread.c): with the lock held, too */

/* libpthread has a right for each thread of its own, which is among those of the name; too many given back take it. */
struct fake_thread;
struct fake_thread *fake_thread_of(uint64_t id);          /* made when it is not known yet; NULL: no room */
mach_port_name_t fake_thread_port(struct fake_thread *t); /* MACH_PORT_NULL: no room */
void fake_thread_unnamed(struct fake_thread *t);          /* its last right was given back */
void fake_thread_looked_at(struct fake_thread *t);        /* finds out whether it has ended */
uint32_t fake_threads_implied(void);                      /* rights that libpthread has */
void fake_threads_forget(void);

/* The one variable that each thread has of its own, a pointer: who exchanges threads exchanges what is there. */
void *fake_thread_local(void);

/* run(arg), as a thread's outermost function (rooted.S). */
void *fake_rooted(void *(*run)(void *), void *arg);

/* Without the lock held. */
mach_port_name_t fake_thread_name_of(uint64_t id);
time_value_t fake_time_value(uint64_t ns);
enum { FAKE_POLICY_TIMESHARE = 1 };

/* ---- memory (vm.c) */

kern_return_t fake_vm_allocate(vm_address_t *address, vm_size_t bytes);

/* ---- time (clock.c) */

uint64_t fake_ticks(uint64_t ns);
uint64_t fake_ns(uint64_t ticks); /* when the clock comes to say so; UINT64_MAX: never */

/* ---- counts that are waited for (counter.c): semaphores of all kinds. Zero bytes and a value make one */

struct fake_counter {
    _Atomic uint32_t lock, word;
    uint32_t value, waiting, granted;
};

/* Takes one, waits for it until `at`; false: in vain. */
bool fake_counter_take(struct fake_counter *c, uint64_t at);

/* Gives one, or one for each that waits. Returns whether anybody waited. */
bool fake_counter_give(struct fake_counter *c, bool to_all);

/* Sleeps as sleep_on does, in the kernel for as long. */
bool fake_wait_on(_Atomic uint32_t *word, uint32_t seen, uint64_t at);

#endif

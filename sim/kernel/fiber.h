/* Fibers: execution contexts with separate stacks, switched explicitly within one operating-system thread.
 *
 * A switch saves the registers that the ABI lets a callee keep, and the control words of floating-point. It does not
 * save the signal mask, which makes swapcontext slow. x86-64 and arm64 have a switch in assembly (fiber_*.S); other
 * machines use ucontext. Stacks are mapped with a guard page below. They get memory page by page on first access and
 * are reused. The address, thread and memory sanitizers are notified of every stack and switch.
 *
 * Not thread-safe: all fibers belong to one operating-system thread. */
#ifndef STROBE_SIM_KERNEL_FIBER_H
#define STROBE_SIM_KERNEL_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if (!defined(__x86_64__) && !defined(__aarch64__)) || !defined(__ELF__)
#define SIM_FIBER_UCONTEXT
#endif
#ifdef SIM_FIBER_UCONTEXT
#include <ucontext.h>
#endif

enum {
    SIM_FIBER_STACK_BYTES = 256 << 10, /* default; see sim_fiber_stack_bytes */
    SIM_FIBER_LOCAL_BYTES = 64,        /* capacity for thread-local bytes */
};

struct sim_fiber {
    void *sp;                /* stack pointer while the fiber is not running */
    struct sim_stack *stack; /* NULL: it runs on a stack that existed before */
    void (*entry)(void *arg);
    void *arg;
    bool ending; /* its next switch is the last */
    uint8_t locals[SIM_FIBER_LOCAL_BYTES];
    const void *low; /* lowest address and size of its stack, known once the fiber was left */
    size_t bytes;
    void *shadow;  /* the address sanitizer's fake stack */
    void *watcher; /* the thread sanitizer's fiber */
#ifdef SIM_FIBER_UCONTEXT
    ucontext_t context;
#endif
};

/* Sets the size of new stacks. Call it while no fiber has a stack. */
void sim_fiber_stack_bytes(size_t bytes);

/* Makes *f stand for the calling context, so that a switch can leave it and return to it. */
void sim_fiber_adopt(struct sim_fiber *f);

/* Makes a fiber that calls entry(arg) at the first switch to it. `entry` must not return: it sets `ending` and switches
 * away. The fiber's thread-local bytes start as 0. False: no memory for a stack. */
bool sim_fiber_open(struct sim_fiber *f, void (*entry)(void *arg), void *arg);

/* Releases the stack of a fiber that is not running, in whatever state it is. */
void sim_fiber_close(struct sim_fiber *f);

/* Switches from `from`, which must be the running fiber, to `to`. Returns when another fiber switches to `from`. */
void sim_fiber_switch(struct sim_fiber *from, struct sim_fiber *to);

/* The place where a suspended fiber stands: in the switch's caller, or at its begin. False: unknown on this machine. */
struct sim_fiber_place {
    uint64_t pc, sp, fp;
};
bool sim_fiber_place(const struct sim_fiber *f, struct sim_fiber_place *out);

/* Makes `bytes` bytes at `address` fiber-local: every switch saves and loads them. The running fiber keeps their value;
 * for other fibers they are 0. Repeated calls for an address have no effect. At most SIM_FIBER_LOCAL_BYTES in all. */
void sim_fiber_local(void *address, size_t bytes);

/* Replaces the thread-local bytes of `from` in memory by those of `to`, as a switch does. */
void sim_fiber_swap_locals(struct sim_fiber *from, const struct sim_fiber *to);

#endif

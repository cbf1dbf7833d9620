/* Fibers: contexts of execution with a stack of their own, switched by hand within one operating-system thread.
 *
 * A switch saves what the ABI lets a callee keep: registers, and the control words of floating-point; not the signal
 * mask, which is what makes swapcontext slow. x86-64 and arm64 have a switch of their own (fiber_*.S), other machines
 * use ucontext. Stacks are mapped with a guard page below, given memory page by page as they are touched, and kept for
 * reuse. Address, thread and memory checkers are told of every stack and switch.
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
    SIM_FIBER_STACK_BYTES = 256 << 10, /* unless sim_fiber_stack_bytes says otherwise */
    SIM_FIBER_LOCAL_BYTES = 64,        /* room for what is thread-local */
};

struct sim_fiber {
    void *sp;                /* while it does not run */
    struct sim_stack *stack; /* NULL: it runs on a stack that was there before */
    void (*entry)(void *arg);
    void *arg;
    bool ending; /* its next switch is its last */
    uint8_t locals[SIM_FIBER_LOCAL_BYTES];
    const void *low; /* of its stack, and its size: known for every fiber once it was left */
    size_t bytes;
    void *shadow;  /* the address checker's stack of it */
    void *watcher; /* the race checker's name of it */
#ifdef SIM_FIBER_UCONTEXT
    ucontext_t context;
#endif
};

/* How large stacks are from now on; while there is none. */
void sim_fiber_stack_bytes(size_t bytes);

/* Makes *f stand for the calling context, so that it can be left and come back to. */
void sim_fiber_adopt(struct sim_fiber *f);

/* Makes a fiber that calls entry(arg) when it is first switched to; entry must not return, but set `ending` and switch
 * away. Its thread-local bytes are 0. False: no memory for a stack. */
bool sim_fiber_open(struct sim_fiber *f, void (*entry)(void *arg), void *arg);

/* Gives back the stack of a fiber that does not run, however far it got. */
void sim_fiber_close(struct sim_fiber *f);

/* Leaves `from`, which must be the one that runs, for `to`; returns when something switches to `from`. */
void sim_fiber_switch(struct sim_fiber *from, struct sim_fiber *to);

/* Where a fiber that was left stands: in the switch's caller, or at its begin. False: not known on this machine. */
struct sim_fiber_place {
    uint64_t pc, sp, fp;
};
bool sim_fiber_place(const struct sim_fiber *f, struct sim_fiber_place *out);

/* From now on `bytes` bytes at `address` are each fiber's own: saved and loaded at every switch. Once for each address
 * (again does nothing), at most SIM_FIBER_LOCAL_BYTES in all. The fiber that runs keeps what it has there, to others it
 * is 0. */
void sim_fiber_local(void *address, size_t bytes);

/* Puts the thread-local bytes of `to` in the place of those of `from`, as a switch would. */
void sim_fiber_swap_locals(struct sim_fiber *from, const struct sim_fiber *to);

#endif

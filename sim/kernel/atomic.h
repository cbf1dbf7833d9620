/* The lab's definitions of the engine's atomic operations. They equal the native ones, but before each operation the
 * adversarial scheduler may switch to another thread. Without a switch an operation costs one decrement more.
 *
 * engine/base/atomic.h includes this file in place of the native definitions. A switch happens only on a fiber. */
#ifndef STROBE_SIM_KERNEL_ATOMIC_H
#define STROBE_SIM_KERNEL_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef _Atomic uint32_t strobe_a32;
typedef _Atomic uint64_t strobe_a64;

/* Number of operations until the next switch. The kernel sets it on the thread that it runs on. On other threads it is
 * never reached. */
extern _Thread_local uint64_t sim_atomic_fuse;
void sim_atomic_preempt(void);

static inline void sim_atomic_step(void)
{
    if (__builtin_expect(--sim_atomic_fuse == 0, 0))
        sim_atomic_preempt();
}

#define strobe_load_relaxed(p)        (sim_atomic_step(), atomic_load_explicit((p), memory_order_relaxed))
#define strobe_load_acquire(p)        (sim_atomic_step(), atomic_load_explicit((p), memory_order_acquire))
#define strobe_load_seq_cst(p)        (sim_atomic_step(), atomic_load_explicit((p), memory_order_seq_cst))
#define strobe_store_relaxed(p, v)    (sim_atomic_step(), atomic_store_explicit((p), (v), memory_order_relaxed))
#define strobe_store_release(p, v)    (sim_atomic_step(), atomic_store_explicit((p), (v), memory_order_release))
#define strobe_store_seq_cst(p, v)    (sim_atomic_step(), atomic_store_explicit((p), (v), memory_order_seq_cst))
#define strobe_add_relaxed(p, v)      (sim_atomic_step(), atomic_fetch_add_explicit((p), (v), memory_order_relaxed))
#define strobe_add_acq_rel(p, v)      (sim_atomic_step(), atomic_fetch_add_explicit((p), (v), memory_order_acq_rel))
#define strobe_exchange_acq_rel(p, v) (sim_atomic_step(), atomic_exchange_explicit((p), (v), memory_order_acq_rel))
#define strobe_cas_acq_rel(p, expected, desired)                                                                       \
    (sim_atomic_step(),                                                                                                \
     atomic_compare_exchange_strong_explicit((p), (expected), (desired), memory_order_acq_rel, memory_order_acquire))
#define strobe_cas_acquire(p, expected, desired)                                                                       \
    (sim_atomic_step(),                                                                                                \
     atomic_compare_exchange_strong_explicit((p), (expected), (desired), memory_order_acquire, memory_order_relaxed))
#define strobe_cas_release(p, expected, desired)                                                                       \
    (sim_atomic_step(),                                                                                                \
     atomic_compare_exchange_strong_explicit((p), (expected), (desired), memory_order_release, memory_order_relaxed))
#define strobe_cas_relaxed(p, expected, desired)                                                                       \
    (sim_atomic_step(),                                                                                                \
     atomic_compare_exchange_strong_explicit((p), (expected), (desired), memory_order_relaxed, memory_order_relaxed))
#define strobe_fence_acquire() atomic_thread_fence(memory_order_acquire)
#define strobe_fence_release() atomic_thread_fence(memory_order_release)
#define strobe_fence_seq_cst() atomic_thread_fence(memory_order_seq_cst)
#define strobe_fence_signal()  atomic_signal_fence(memory_order_seq_cst)

#endif

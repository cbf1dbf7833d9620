/* The one seam through which the engine touches memory that several threads, or a thread and its own
 * signal handlers, share. The native build maps each operation to C11 <stdatomic.h>; a simulator compiles
 * the same sources against its own definitions of these names (STROBE_ATOMIC_HEADER).
 *
 * Types: strobe_a32, strobe_a64. Orders are named in the operation, so that a reader sees each edge.
 * Any context: none of them takes a lock on the targets we build for, which is asserted below. */
#ifndef STROBE_BASE_ATOMIC_H
#define STROBE_BASE_ATOMIC_H

#ifdef STROBE_ATOMIC_HEADER
#include STROBE_ATOMIC_HEADER
#else

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef _Atomic uint32_t strobe_a32;
typedef _Atomic uint64_t strobe_a64;

_Static_assert(sizeof(strobe_a32) == 4 && sizeof(strobe_a64) == 8, "atomics add no lock word");
_Static_assert(_Alignof(strobe_a64) == 8, "atomics are aligned, also where plain words of 8 bytes are not");
_Static_assert(__atomic_always_lock_free(4, 0) && __atomic_always_lock_free(8, 0), "no operation takes a lock");

#define strobe_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define strobe_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define strobe_load_seq_cst(p) atomic_load_explicit((p), memory_order_seq_cst)
#define strobe_store_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define strobe_store_release(p, v) atomic_store_explicit((p), (v), memory_order_release)
#define strobe_store_seq_cst(p, v) atomic_store_explicit((p), (v), memory_order_seq_cst)
#define strobe_add_relaxed(p, v) atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define strobe_add_acq_rel(p, v) atomic_fetch_add_explicit((p), (v), memory_order_acq_rel)
#define strobe_exchange_acq_rel(p, v) atomic_exchange_explicit((p), (v), memory_order_acq_rel)

/* Strong compare-exchange; on failure *expected receives what was found, with acquire, or relaxed as named. */
#define strobe_cas_acq_rel(p, expected, desired)                                                 \
    atomic_compare_exchange_strong_explicit((p), (expected), (desired), memory_order_acq_rel,    \
                                            memory_order_acquire)
#define strobe_cas_acquire(p, expected, desired)                                                 \
    atomic_compare_exchange_strong_explicit((p), (expected), (desired), memory_order_acquire,    \
                                            memory_order_relaxed)
#define strobe_cas_release(p, expected, desired)                                                 \
    atomic_compare_exchange_strong_explicit((p), (expected), (desired), memory_order_release,    \
                                            memory_order_relaxed)
#define strobe_cas_relaxed(p, expected, desired)                                                 \
    atomic_compare_exchange_strong_explicit((p), (expected), (desired), memory_order_relaxed,    \
                                            memory_order_relaxed)

#define strobe_fence_acquire() atomic_thread_fence(memory_order_acquire)
#define strobe_fence_release() atomic_thread_fence(memory_order_release)
#define strobe_fence_seq_cst() atomic_thread_fence(memory_order_seq_cst)

/* Orders a thread against its own signal handlers only; costs no instruction. */
#define strobe_fence_signal() atomic_signal_fence(memory_order_seq_cst)

#endif

/* A counter with one writer: plain speed, yet readable by others without a data race. */
#define strobe_bump(p, n) strobe_store_relaxed((p), strobe_load_relaxed(p) + (n))

#endif

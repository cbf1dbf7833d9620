/* Atomic operations on memory that several threads share, or that a thread shares with its own signal handlers.
 *
 * The engine accesses such memory only through the names of this header. The native build maps each name to C11
 * <stdatomic.h>. The lab compiles the same sources with its own definitions of these names, so that it can explore
 * interleavings: STROBE_ATOMIC_HEADER names the header that holds them.
 *
 * Types: strobe_a32, strobe_a64. The name of each operation states its memory order, so that each synchronization edge
 * is visible at the call. Any context: no operation takes a lock on the supported targets, which is asserted below.
 *
 * Two notations in comments of all sources:
 *
 *   explored: GROUP/NAME   The program NAME of the group in tests/explore/programs.c checks the statement. The explorer
 *                          (`strobe explore`) runs the program in all interleavings of its threads.
 *   S-n, R-n               A property that a test checks: tests/PROPERTIES.md. */
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

#define strobe_load_relaxed(p)        atomic_load_explicit((p), memory_order_relaxed)
#define strobe_load_acquire(p)        atomic_load_explicit((p), memory_order_acquire)
#define strobe_load_seq_cst(p)        atomic_load_explicit((p), memory_order_seq_cst)
#define strobe_store_relaxed(p, v)    atomic_store_explicit((p), (v), memory_order_relaxed)
#define strobe_store_release(p, v)    atomic_store_explicit((p), (v), memory_order_release)
#define strobe_store_seq_cst(p, v)    atomic_store_explicit((p), (v), memory_order_seq_cst)
#define strobe_add_relaxed(p, v)      atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define strobe_add_acq_rel(p, v)      atomic_fetch_add_explicit((p), (v), memory_order_acq_rel)
#define strobe_exchange_acq_rel(p, v) atomic_exchange_explicit((p), (v), memory_order_acq_rel)

/* Strong compare-exchange. On failure *expected receives the value found. strobe_cas_acq_rel loads that value with
 * acquire; the other variants load it relaxed. */
#define strobe_cas_acq_rel(p, expected, desired)                                                                       \
    atomic_compare_exchange_strong_explicit((p), (expected), (desired), memory_order_acq_rel, memory_order_acquire)
#define strobe_cas_acquire(p, expected, desired)                                                                       \
    atomic_compare_exchange_strong_explicit((p), (expected), (desired), memory_order_acquire, memory_order_relaxed)
#define strobe_cas_release(p, expected, desired)                                                                       \
    atomic_compare_exchange_strong_explicit((p), (expected), (desired), memory_order_release, memory_order_relaxed)
#define strobe_cas_relaxed(p, expected, desired)                                                                       \
    atomic_compare_exchange_strong_explicit((p), (expected), (desired), memory_order_relaxed, memory_order_relaxed)

#define strobe_fence_acquire() atomic_thread_fence(memory_order_acquire)
#define strobe_fence_release() atomic_thread_fence(memory_order_release)
#define strobe_fence_seq_cst() atomic_thread_fence(memory_order_seq_cst)

/* Orders accesses of a thread against those of its own signal handlers only. It costs no instruction. */
#define strobe_fence_signal()  atomic_signal_fence(memory_order_seq_cst)

#endif

/* Adds n to a counter that has exactly one writer. `p` is evaluated twice. The cost is that of a plain addition. Other
 * threads may read the counter without a data race. */
#define strobe_bump(p, n) strobe_store_relaxed((p), strobe_load_relaxed(p) + (n))

#endif

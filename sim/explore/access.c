/* The functions that the compiler calls when it builds for the race detector (-fsanitize=thread), implemented by the
 * explorer: each atomic operation, each fence, and each plain access to memory that the compiler cannot prove private.
 * Names and parameters are those of the interface in LLVM's compiler-rt, tsan_interface.h and tsan_interface_atomic.h,
 * which gcc shares.
 *
 * Sites are return addresses; the address before that lies in the calling instruction. */
#include "sim/explore/access.h"

#include <stdatomic.h>
#include <string.h>

#define HERE ((struct explore_site){(const char *)__builtin_return_address(0) - 1, NULL})

/* In builds with the race detector, its own runtime implements these functions. */
#if defined(__SANITIZE_THREAD__)
#define WATCHED
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WATCHED
#endif
#endif
#ifndef WATCHED

void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);
void __tsan_init(void) {}
void __tsan_func_entry(void *caller)
{
    (void)caller;
}
void __tsan_func_exit(void) {}

/* ---- plain accesses */

#define PLAIN(name, bytes, store)                                                                                      \
    void name(void *at);                                                                                               \
    void name(void *at)                                                                                                \
    {                                                                                                                  \
        explore_plain(at, bytes, store, HERE);                                                                         \
    }

PLAIN(__tsan_read1, 1, false)
PLAIN(__tsan_read2, 2, false)
PLAIN(__tsan_read4, 4, false)
PLAIN(__tsan_read8, 8, false)
PLAIN(__tsan_read16, 16, false)
PLAIN(__tsan_unaligned_read2, 2, false)
PLAIN(__tsan_unaligned_read4, 4, false)
PLAIN(__tsan_unaligned_read8, 8, false)
PLAIN(__tsan_unaligned_read16, 16, false)
PLAIN(__tsan_volatile_read1, 1, false)
PLAIN(__tsan_volatile_read2, 2, false)
PLAIN(__tsan_volatile_read4, 4, false)
PLAIN(__tsan_volatile_read8, 8, false)
PLAIN(__tsan_write1, 1, true)
PLAIN(__tsan_write2, 2, true)
PLAIN(__tsan_write4, 4, true)
PLAIN(__tsan_write8, 8, true)
PLAIN(__tsan_write16, 16, true)
PLAIN(__tsan_unaligned_write2, 2, true)
PLAIN(__tsan_unaligned_write4, 4, true)
PLAIN(__tsan_unaligned_write8, 8, true)
PLAIN(__tsan_unaligned_write16, 16, true)
PLAIN(__tsan_volatile_write1, 1, true)
PLAIN(__tsan_volatile_write2, 2, true)
PLAIN(__tsan_volatile_write4, 4, true)
PLAIN(__tsan_volatile_write8, 8, true)

void __tsan_read_range(void *at, uint64_t bytes);
void __tsan_write_range(void *at, uint64_t bytes);
void __tsan_read_range(void *at, uint64_t bytes)
{
    explore_plain(at, bytes, false, HERE);
}
void __tsan_write_range(void *at, uint64_t bytes)
{
    explore_plain(at, bytes, true, HERE);
}

/* Newer versions of clang call these in place of the C library's functions. */
void *__tsan_memcpy(void *to, const void *from, uint64_t bytes);
void *__tsan_memmove(void *to, const void *from, uint64_t bytes);
void *__tsan_memset(void *to, int value, uint64_t bytes);

void *__tsan_memcpy(void *to, const void *from, uint64_t bytes)
{
    explore_plain(from, bytes, false, HERE);
    explore_plain(to, bytes, true, HERE);
    return memcpy(to, from, bytes);
}

void *__tsan_memmove(void *to, const void *from, uint64_t bytes)
{
    explore_plain(from, bytes, false, HERE);
    explore_plain(to, bytes, true, HERE);
    return memmove(to, from, bytes);
}

void *__tsan_memset(void *to, int value, uint64_t bytes)
{
    explore_plain(to, bytes, true, HERE);
    return memset(to, value, bytes);
}

/* ---- atomic operations */

/* gcc stores lock elision in the upper bits. */
#define ORDER(o) ((int)((o)&0x7fff))

#define FETCH(bits, type, name, update)                                                                                \
    type __tsan_atomic##bits##_##name(volatile void *at, type v, int order);                                           \
    type __tsan_atomic##bits##_##name(volatile void *at, type v, int order)                                            \
    {                                                                                                                  \
        return (type)explore_fetch(at, bits / 8, update, v, ORDER(order), HERE);                                       \
    }

#define EXCHANGE_IF(bits, type, name, weak)                                                                            \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile void *at, type *expected, type v, int order,            \
                                                      int failure);                                                    \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile void *at, type *expected, type v, int order,            \
                                                      int failure)                                                     \
    {                                                                                                                  \
        uint64_t wide = *expected;                                                                                     \
        bool stored = explore_compare_exchange(at, bits / 8, &wide, v, weak, ORDER(order), ORDER(failure), HERE);      \
        if (!stored)                                                                                                   \
            *expected = (type)wide;                                                                                    \
        return stored;                                                                                                 \
    }

#define OPERATIONS(bits, type)                                                                                         \
    type __tsan_atomic##bits##_load(const volatile void *at, int order);                                               \
    type __tsan_atomic##bits##_load(const volatile void *at, int order)                                                \
    {                                                                                                                  \
        return (type)explore_load(at, bits / 8, ORDER(order), HERE);                                                   \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile void *at, type v, int order);                                            \
    void __tsan_atomic##bits##_store(volatile void *at, type v, int order)                                             \
    {                                                                                                                  \
        explore_store(at, bits / 8, v, ORDER(order), HERE);                                                            \
    }                                                                                                                  \
    FETCH(bits, type, exchange, EXPLORE_EXCHANGE)                                                                      \
    FETCH(bits, type, fetch_add, EXPLORE_ADD)                                                                          \
    FETCH(bits, type, fetch_sub, EXPLORE_SUB)                                                                          \
    FETCH(bits, type, fetch_and, EXPLORE_AND)                                                                          \
    FETCH(bits, type, fetch_or, EXPLORE_OR)                                                                            \
    FETCH(bits, type, fetch_xor, EXPLORE_XOR)                                                                          \
    FETCH(bits, type, fetch_nand, EXPLORE_NAND)                                                                        \
    EXCHANGE_IF(bits, type, strong, false)                                                                             \
    EXCHANGE_IF(bits, type, weak, true)                                                                                \
    type __tsan_atomic##bits##_compare_exchange_val(volatile void *at, type expected, type v, int order, int failure); \
    type __tsan_atomic##bits##_compare_exchange_val(volatile void *at, type expected, type v, int order, int failure)  \
    {                                                                                                                  \
        uint64_t wide = expected;                                                                                      \
        explore_compare_exchange(at, bits / 8, &wide, v, false, ORDER(order), ORDER(failure), HERE);                   \
        return (type)wide;                                                                                             \
    }

OPERATIONS(8, uint8_t)
OPERATIONS(16, uint16_t)
OPERATIONS(32, uint32_t)
OPERATIONS(64, uint64_t)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    explore_fence(ORDER(order), HERE);
}

/* Orders a thread against its own signal handlers, which no other thread sees. */
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
}

#endif

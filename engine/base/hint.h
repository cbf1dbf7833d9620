/* Hints to the compiler, the only place that spells its extensions. Any context. */
#ifndef STROBE_BASE_HINT_H
#define STROBE_BASE_HINT_H

#define strobe_unlikely(condition) __builtin_expect(!!(condition), 0)
/* Has the cache line at p fetched while other work goes on; p need not be valid. */
#define strobe_prefetch(p) __builtin_prefetch(p)

#define STROBE_NOINLINE __attribute__((noinline))
#define STROBE_ALWAYS_INLINE __attribute__((always_inline)) inline
/* Of a function that reads a stack as it is: with what the address sanitizer has between variables, and with variables
 * that other threads may be writing to. */
#define STROBE_READS_STACKS __attribute__((no_sanitize("address"), no_sanitize("thread")))

#endif

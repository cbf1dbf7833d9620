/* Hints to the compiler. Only this header spells compiler extensions for hints. Any context. */
#ifndef STROBE_BASE_HINT_H
#define STROBE_BASE_HINT_H

#define strobe_unlikely(condition) __builtin_expect(!!(condition), 0)
/* Requests the cache line at p without waiting for it. p need not be a valid address. */
#define strobe_prefetch(p) __builtin_prefetch(p)

#define STROBE_NOINLINE      __attribute__((noinline))
#define STROBE_ALWAYS_INLINE __attribute__((always_inline)) inline
/* Marks a function that reads raw stack memory. Such a function reads the padding that the address sanitizer places
 * between variables, and variables that other threads may be writing. Both sanitizers are therefore off in it. */
#define STROBE_READS_STACKS __attribute__((no_sanitize("address"), no_sanitize("thread")))

#endif

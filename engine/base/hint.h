/* Hints to the compiler, the only place that spells its extensions. Any context. */
#ifndef STROBE_BASE_HINT_H
#define STROBE_BASE_HINT_H

#define strobe_unlikely(condition) __builtin_expect(!!(condition), 0)
#define STROBE_NOINLINE __attribute__((noinline))
#define STROBE_ALWAYS_INLINE __attribute__((always_inline)) inline

#endif

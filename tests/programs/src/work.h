/* Work for the programs of this suite: computed values that the compiler cannot leave out. */
#ifndef STROBE_PROGRAMS_SRC_WORK_H
#define STROBE_PROGRAMS_SRC_WORK_H

#include <stdint.h>

#define HOT __attribute__((noinline))

/* About 2 ns per round. */
#define DEFINE_WORK(name, multiplier)                                                                                  \
    HOT uint64_t name(uint64_t rounds, uint64_t h)                                                                     \
    {                                                                                                                  \
        for (uint64_t i = 0; i < rounds; i++)                                                                          \
            h = (h ^ (h >> 29)) * (multiplier) + i;                                                                    \
        return h;                                                                                                      \
    }

#endif

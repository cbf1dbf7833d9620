/* A stack of known depth to be unwound: four functions with frames of different sizes that call each other.
 * Any thread. */
#ifndef STROBE_BENCH_DEEP_H
#define STROBE_BENCH_DEEP_H

#include <stdint.h>

struct deep_place {
    uint64_t top; /* frame address of deep_call, just above the frames of the functions */
    int depth;
};

typedef void deep_fn(const struct deep_place *place, void *arg);

/* Calls `bottom` with `depth` frames (at least 1) of these functions above it. */
void deep_call(int depth, deep_fn *bottom, void *arg);

#endif

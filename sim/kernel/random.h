/* Random numbers that are the same everywhere: xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number
 * generators", ACM TOMS 2021), seeded by splitmix64. Each pair of seed and stream number yields an independent
 * sequence. A draw from one stream does not affect another stream.
 *
 * Floating-point is used for exact scaling only. Any context. */
#ifndef STROBE_SIM_KERNEL_RANDOM_H
#define STROBE_SIM_KERNEL_RANDOM_H

#include "engine/base/mix.h"

struct sim_random {
    uint64_t s[4];
};

static inline struct sim_random sim_random_seed(uint64_t seed, uint64_t stream)
{
    struct sim_random r;
    uint64_t x = strobe_mix64(seed + 0x9e3779b97f4a7c15u) ^ strobe_mix64(~stream);
    for (int i = 0; i < 4; i++)
        r.s[i] = strobe_mix64(x += 0x9e3779b97f4a7c15u);
    return r;
}

static inline uint64_t sim_random_rotl(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

static inline uint64_t sim_random_u64(struct sim_random *r)
{
    uint64_t *s = r->s, result = sim_random_rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = sim_random_rotl(s[3], 45);
    return result;
}

/* Uniform in [0, n), n >= 1; exactly uniform, by rejection. */
static inline uint64_t sim_random_below(struct sim_random *r, uint64_t n)
{
    uint64_t least = (0 - n) % n, x;
    do
        x = sim_random_u64(r);
    while (x < least);
    return x % n;
}

/* Uniform in [0, 1), a multiple of 2^-53. */
static inline double sim_random_unit(struct sim_random *r)
{
    return (double)(sim_random_u64(r) >> 11) * 0x1p-53;
}

#endif

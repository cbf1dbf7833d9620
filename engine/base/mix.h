/* Hash functions for integers. Any context. */
#ifndef STROBE_BASE_MIX_H
#define STROBE_BASE_MIX_H

#include <stdint.h>

/* Mixes a 64-bit value so that each input bit affects all output bits. It is the finaliser of splitmix64 (Steele, Lea,
 * Flood, OOPSLA 2014). The function is a bijection. */
static inline uint64_t strobe_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Combines two values into one hash. Where the compiler has 128-bit integers, one wide multiplication mixes them, as in
 * wyhash; elsewhere two calls of strobe_mix64 do. */
static inline uint64_t strobe_mix_pair(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    wide m = (wide)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xbf58476d1ce4e5b9u);
    return (uint64_t)m ^ (uint64_t)(m >> 64);
#else
    return strobe_mix64(a ^ strobe_mix64(b + 0x9e3779b97f4a7c15u));
#endif
}

#endif

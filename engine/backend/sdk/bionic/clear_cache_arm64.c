/* Makes written instructions visible to all threads. Compilers call this function for __builtin___clear_cache. The NDK
 * takes it from its compiler's library. Debian has no such library for Android. Arm Architecture Reference Manual,
 * B2.4: data lines are cleaned, then instruction lines are invalidated, with the line sizes of CTR_EL0. */
#ifdef __aarch64__

#include <stdint.h>

void __clear_cache(void *start, void *end);

void __clear_cache(void *start, void *end)
{
    uint64_t sizes;
    __asm__ volatile("mrs %0, ctr_el0" : "=r"(sizes));
    uint64_t data = 4u << (sizes >> 16 & 15), code = 4u << (sizes & 15), to = (uintptr_t)end;
    for (uint64_t at = (uintptr_t)start & ~(data - 1); at < to; at += data)
        __asm__ volatile("dc cvau, %0" ::"r"(at) : "memory");
    __asm__ volatile("dsb ish" ::: "memory");
    for (uint64_t at = (uintptr_t)start & ~(code - 1); at < to; at += code)
        __asm__ volatile("ic ivau, %0" ::"r"(at) : "memory");
    __asm__ volatile("dsb ish\n isb" ::: "memory");
}

#endif

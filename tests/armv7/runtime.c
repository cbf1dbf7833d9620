/* Functions of the compilers' run-time library that the function set needs (RTABI32, IHI 0043). The library's own have
 * no exception tables. */
#include <stdint.h>

#define BASE_CALL __attribute__((pcs("aapcs"))) /* doubles are passed in core registers */

uint64_t set_divide(uint64_t a, uint64_t b, uint64_t *rest);
BASE_CALL double __aeabi_ul2d(uint64_t a);
BASE_CALL uint64_t __aeabi_d2ulz(double a);

/* Called by __aeabi_uldivmod in hand.S. */
uint64_t set_divide(uint64_t a, uint64_t b, uint64_t *rest)
{
    uint64_t quotient = 0, left = 0;
    for (int bit = 63; bit >= 0; bit--) {
        left = left << 1 | (a >> bit & 1);
        if (left >= b) {
            left -= b;
            quotient |= (uint64_t)1 << bit;
        }
    }
    *rest = left;
    return quotient;
}

BASE_CALL double __aeabi_ul2d(uint64_t a)
{
    return (double)(uint32_t)(a >> 32) * 4294967296.0 + (double)(uint32_t)a;
}

BASE_CALL uint64_t __aeabi_d2ulz(double a)
{
    uint32_t high = (uint32_t)(a / 4294967296.0);
    return (uint64_t)high << 32 | (uint32_t)(a - (double)high * 4294967296.0);
}

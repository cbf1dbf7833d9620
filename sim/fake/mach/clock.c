/* The clock: 24 MHz, as on arm64 devices. */
#include "sim/fake/mach/kernel.h"

enum { NUMER = 125, DENOM = 3 };

uint64_t fake_ticks(uint64_t ns)
{
    return ns / NUMER * DENOM + ns % NUMER * DENOM / NUMER;
}

uint64_t mach_absolute_time(void)
{
    return fake_ticks(fake_on->now_ns());
}

kern_return_t mach_timebase_info(mach_timebase_info_t out)
{
    *out = (struct mach_timebase_info){NUMER, DENOM};
    return KERN_SUCCESS;
}

uint64_t fake_ns(uint64_t ticks)
{
    uint64_t whole = ticks / DENOM;
    if (whole >= UINT64_MAX / NUMER)
        return UINT64_MAX;
    return whole * NUMER + (ticks % DENOM * NUMER + DENOM - 1) / DENOM;
}

kern_return_t mach_wait_until(uint64_t deadline)
{
    static struct fake_call call = {.name = "mach_wait_until"};
    kern_return_t answer = fake_kernel_enter(&call);
    if (answer == KERN_SUCCESS) {
        fake_on->waits(true);
        fake_on->sleep_until_ns(fake_ns(deadline));
        fake_on->waits(false);
    }
    return fake_kernel_leave(answer);
}

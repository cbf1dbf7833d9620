/* Reading the clock is a point. */
#include "engine/backend/linux/preload/hook.h"

#include <sys/time.h>

HOOK(int, clock_gettime)(clockid_t clock, struct timespec *out)
{
    HOOK_BEGINS;
    int r = strobe_real()->clock_gettime(clock, out);
    strobe_hook_point(STROBE_KIND_CLOCK, (uint64_t)(unsigned)clock, STROBE_HERE);
    return r;
}

HOOK(int, gettimeofday)(struct timeval *restrict out, void *restrict zone)
{
    HOOK_BEGINS;
    int r = strobe_real()->gettimeofday(out, zone);
    strobe_hook_point(STROBE_KIND_CLOCK, 0, STROBE_HERE);
    return r;
}

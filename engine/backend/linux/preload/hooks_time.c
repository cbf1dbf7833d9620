/* Sleeping is a scope; reading the clock is a point. */
#include "engine/backend/linux/preload/hook.h"

#include <sys/time.h>
#include <unistd.h>

HOOK int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    SCOPE(STROBE_KIND_SLEEP, 0);
    return strobe_real()->nanosleep(wanted, left);
}

HOOK int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left)
{
    SCOPE(STROBE_KIND_SLEEP, 0);
    return strobe_real()->clock_nanosleep(clock, flags, wanted, left);
}

HOOK int usleep(useconds_t us)
{
    SCOPE(STROBE_KIND_SLEEP, 0);
    return strobe_real()->usleep(us);
}

HOOK unsigned sleep(unsigned seconds)
{
    SCOPE(STROBE_KIND_SLEEP, 0);
    return strobe_real()->sleep(seconds);
}

HOOK int clock_gettime(clockid_t clock, struct timespec *out)
{
    int r = strobe_real()->clock_gettime(clock, out);
    strobe_hook_point(STROBE_KIND_CLOCK, (uint64_t)(unsigned)clock, STROBE_HERE);
    return r;
}

HOOK int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    int r = strobe_real()->gettimeofday(out, zone);
    strobe_hook_point(STROBE_KIND_CLOCK, 0, STROBE_HERE);
    return r;
}

#include "tests/faults/refused.h"

#include <errno.h>
#include <stdbool.h>

struct refusal {
    bool armed;
    long number; /* when `at` is 0 */
    int error;
    uint64_t at, calls, refused;
};

static _Thread_local struct refusal refusal;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

void refuse_call(long number, int error)
{
    refusal = (struct refusal){.armed = true, .number = number, .error = error};
}

void refuse_nth_call(uint64_t at, int error)
{
    refusal = (struct refusal){.armed = true, .at = at, .error = error};
}

uint64_t refuse_none(void)
{
    refusal.armed = false;
    return refusal.refused;
}

static bool is_refused(long number)
{
    return refusal.armed && (refusal.at ? ++refusal.calls == refusal.at : number == refusal.number);
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (!is_refused(number))
        return __real_syscall(number, a, b, c, d, e, f);
    refusal.refused++;
    errno = refusal.error;
    return -1;
}

/* Replaces the device of sim/player/work.c in virtual time: a timer that each thread reads. The read is a call of the
 * app that the engine hooks. */
#include "sim/player/virtual/posix.h"
#include "sim/player/work.h"

void sim_work_device(int *device, uint64_t latency_ns)
{
    uint64_t expired;
    const struct itimerspec once = {.it_value = {(time_t)(latency_ns / 1000000000u), (long)(latency_ns % 1000000000u)}};
    if (*device < 0)
        *device = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(*device, 0, &once, NULL);
    while (read(*device, &expired, sizeof expired) != (ssize_t)sizeof expired)
        continue;
}

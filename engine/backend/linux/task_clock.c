#include "engine/backend/linux/cpu_clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int strobe_linux_open_task_clock(uint32_t tid, uint64_t period_ns)
{
    struct perf_event_attr event = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof event,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = period_ns,
        .wakeup_events = 1,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    return (int)syscall(SYS_perf_event_open, &event, (long)tid, -1l, -1l, (long)PERF_FLAG_FD_CLOEXEC);
}

int strobe_linux_clock_refusal(void)
{
    int fd = strobe_linux_open_task_clock(0, 1000000), error = errno;
    if (fd < 0)
        return error;
    syscall(SYS_close, fd);
    return 0;
}

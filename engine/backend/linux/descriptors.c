#include "engine/backend/linux/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LIMIT_MAX = 1024, BELOW_LIMIT = 16 };

static int lowest_engine_descriptor(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > LIMIT_MAX)
        limit.rlim_cur = LIMIT_MAX;
    return limit.rlim_cur > 2 * BELOW_LIMIT ? (int)limit.rlim_cur - BELOW_LIMIT : (int)limit.rlim_cur / 2;
}

int strobe_linux_raise_descriptor(int fd)
{
    int saved = errno, lowest = lowest_engine_descriptor();
    long high = fd >= lowest ? -1 : syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest);
    if (high >= 0)
        syscall(SYS_close, fd);
    errno = saved;
    return high >= 0 ? (int)high : fd;
}

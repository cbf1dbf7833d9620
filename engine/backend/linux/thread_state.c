#include "engine/backend/linux/thread_state.h"

#include "engine/store/record.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STAT_PATH_BYTES = 48, STAT_BYTES = 64 }; /* name and state are within the first bytes */

static void format_stat_path(char path[STAT_PATH_BYTES], uint32_t tid)
{
    static const char before[] = "/proc/self/task/", after[] = "/stat";
    char digits[10], *to = path + sizeof before - 1;
    int count = 0;
    memcpy(path, before, sizeof before - 1);
    do
        digits[count++] = (char)('0' + tid % 10);
    while (tid /= 10);
    while (count)
        *to++ = digits[--count];
    memcpy(to, after, sizeof after);
}

char strobe_linux_thread_state(uint32_t tid)
{
    char path[STAT_PATH_BYTES], text[STAT_BYTES];
    int saved_errno = errno;
    format_stat_path(path, tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text);
    if (fd >= 0)
        close(fd);
    errno = saved_errno;
    /* "TID (NAME) STATE ...": the name may contain any character, so the last parenthesis ends it. */
    for (ssize_t i = got - 3; i > 0; i--)
        if (text[i] == ')' && text[i + 1] == ' ')
            return text[i + 2];
    return 0;
}

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#elif defined(__arm__)
enum { OWN_MACHINE = EM_ARM };
#else
#error "system calls of this machine are not known"
#endif

uint64_t strobe_linux_parse_wait_call(const char *line)
{
    enum { NUMBER_MOST = 100000 };
    uint32_t number = 0;
    const char *at = line;
    while (*at >= '0' && *at <= '9' && number < NUMBER_MOST)
        number = number * 10 + (uint32_t)(*at++ - '0');
    if (at == line || *at != ' ' || number == SYS_restart_syscall)
        return 0;
    return strobe_wait_call(OWN_MACHINE, number);
}

/* The line is `running`, or `-1 SP PC` for a thread that was stopped or preempted in its own code, or `NUMBER ARGUMENTS
 * SP PC`. The numbers after the first are hexadecimal. */
bool strobe_linux_waits_outside(const char *line, uint64_t low, uint64_t high)
{
    const char *last = strrchr(line, ' ');
    char *end;
    if (!last || ((line[0] < '0' || line[0] > '9') && line[0] != '-'))
        return false;
    uint64_t at = strtoull(last + 1, &end, 16);
    return end != last + 1 && (*end == '\n' || *end == '\0') && (at < low || at >= high);
}

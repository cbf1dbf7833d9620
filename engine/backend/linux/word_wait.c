#include "engine/backend/linux/word_wait.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void strobe_linux_wait(strobe_a32 *word, uint32_t value, int ms)
{
    int saved = errno;
    struct timespec most = {ms / 1000, ms % 1000 * 1000000L};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ms < 0 ? NULL : &most, NULL, 0);
    errno = saved;
}

void strobe_linux_wake(strobe_a32 *word)
{
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = saved;
}

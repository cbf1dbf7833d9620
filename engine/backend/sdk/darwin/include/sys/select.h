/* What the capture half uses of Darwin's <sys/select.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_SELECT_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_SELECT_H

#include <signal.h>
#include <sys/time.h>

typedef struct fd_set fd_set;

int select(int count, fd_set *readable, fd_set *writable, fd_set *odd, struct timeval *timeout);
int pselect(int count, fd_set *readable, fd_set *writable, fd_set *odd, const struct timespec *timeout,
            const sigset_t *mask);

#endif

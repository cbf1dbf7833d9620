/* What the capture half uses of Android's <sys/select.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_SELECT_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_SELECT_H

#include <signal.h>
#include <sys/types.h>

struct timeval;
typedef struct {
    unsigned long bits[1024 / 8 / sizeof(unsigned long)];
} fd_set;

int select(int count, fd_set *read, fd_set *write, fd_set *except, struct timeval *timeout);
int pselect(int count, fd_set *read, fd_set *write, fd_set *except, const struct timespec *timeout,
            const sigset_t *mask);

#endif

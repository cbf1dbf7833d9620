/* What the capture half uses of Android's <poll.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_POLL_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_POLL_H

#include <asm/poll.h>
#include <signal.h>

typedef unsigned nfds_t;

int poll(struct pollfd *fds, nfds_t count, int timeout);
int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask);

#endif

/* What the capture half uses of Darwin's <poll.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_POLL_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_POLL_H

#include <sys/types.h>

typedef unsigned nfds_t;
enum { POLLIN = 1, POLLOUT = 4, POLLERR = 8, POLLNVAL = 0x20 };

struct pollfd {
    int fd;
    short events, revents;
};

int poll(struct pollfd *fds, nfds_t count, int timeout_ms);

#endif

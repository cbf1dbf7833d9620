/* What the capture half uses of Darwin's <poll.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_POLL_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_POLL_H

#include <sys/types.h>

typedef unsigned nfds_t;
struct pollfd;

int poll(struct pollfd *fds, nfds_t count, int timeout_ms);

#endif

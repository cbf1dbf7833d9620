/* What the capture half uses of Android's <sys/eventfd.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_EVENTFD_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_EVENTFD_H

#include <sys/types.h>

typedef uint64_t eventfd_t;

int eventfd(unsigned value, int flags);
int eventfd_read(int fd, eventfd_t *value);
int eventfd_write(int fd, eventfd_t value);

#endif

/* What the capture half uses of Android's <sys/uio.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_UIO_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_UIO_H

#include <linux/uio.h>
#include <sys/types.h>

ssize_t readv(int fd, const struct iovec *to, int count);
ssize_t writev(int fd, const struct iovec *from, int count);

#endif

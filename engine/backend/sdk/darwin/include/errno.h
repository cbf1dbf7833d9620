/* What the capture half uses of Darwin's <errno.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_ERRNO_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_ERRNO_H

int *__error(void);
#define errno (*__error())

#define ENOENT      2
#define EINTR       4
#define ENOMEM      12
#define EACCES      13
#define EBUSY       16
#define EEXIST      17
#define ENOTDIR     20
#define EINVAL      22
#define ENFILE      23
#define EMFILE      24
#define ENOSPC      28
#define EROFS       30
#define EAGAIN      35
#define EWOULDBLOCK EAGAIN
#define ENOTSUP     45
#define EADDRINUSE  48
#define ENOBUFS     55
#define ETIMEDOUT   60
#define EDQUOT      69
#define ENOSYS      78
#define EOPNOTSUPP  102

#endif

/* What the capture half uses of Android's <errno.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_ERRNO_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_ERRNO_H

#include <asm/errno.h>

#define ENOTSUP EOPNOTSUPP

int *__errno(void);
#define errno (*__errno())

#endif

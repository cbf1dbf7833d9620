/* What the capture half uses of Android's <sys/un.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_UN_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_UN_H

#include <linux/un.h>
#include <sys/socket.h>

#endif

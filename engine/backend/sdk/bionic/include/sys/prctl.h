/* What the capture half uses of Android's <sys/prctl.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_PRCTL_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_PRCTL_H

#include <linux/prctl.h>

int prctl(int option, ...);

#endif

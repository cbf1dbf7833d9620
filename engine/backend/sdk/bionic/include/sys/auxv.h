/* What the capture half uses of Android's <sys/auxv.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_AUXV_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_AUXV_H

#include <linux/auxvec.h>

unsigned long getauxval(unsigned long type);

#endif

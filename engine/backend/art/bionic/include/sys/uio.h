#ifndef STROBE_BIONIC_SYS_UIO_H
#define STROBE_BIONIC_SYS_UIO_H

#include <linux/uio.h>

#endif

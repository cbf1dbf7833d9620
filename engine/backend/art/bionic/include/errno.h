#ifndef STROBE_BIONIC_ERRNO_H
#define STROBE_BIONIC_ERRNO_H

#include <asm/errno.h>

int *__errno(void);
#define errno (*__errno())

#endif

/* What the capture half uses of Darwin's <sys/select.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_MACH_DARWIN_INCLUDE_SYS_SELECT_H
#define STROBE_BACKEND_MACH_DARWIN_INCLUDE_SYS_SELECT_H

#include <sys/time.h>

typedef struct fd_set fd_set;

/* The one that takes as many descriptors as there may be, which programs call unless they ask for another. */
int select(int count, fd_set *readable, fd_set *writable, fd_set *odd, struct timeval *timeout)
    __asm__("_select$DARWIN_EXTSN");

#endif

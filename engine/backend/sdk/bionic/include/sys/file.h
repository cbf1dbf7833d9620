/* What the capture half uses of Android's <sys/file.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_FILE_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_FILE_H

int flock(int fd, int operation);

#endif

/* What the capture half uses of Darwin's <sys/file.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_FILE_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_FILE_H

#define LOCK_EX 2
#define LOCK_NB 4

int flock(int fd, int operation);

#endif

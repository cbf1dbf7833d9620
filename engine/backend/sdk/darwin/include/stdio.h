/* What the capture half uses of Darwin's <stdio.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_STDIO_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_STDIO_H

int rename(const char *from, const char *to);

#endif

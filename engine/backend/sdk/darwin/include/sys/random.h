/* What the capture half uses of Darwin's <sys/random.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_RANDOM_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_RANDOM_H

#include <sys/types.h>

int getentropy(void *out, size_t bytes);

#endif

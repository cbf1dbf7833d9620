/* What the capture half uses of Darwin's <stdlib.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_STDLIB_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_STDLIB_H

#include <stddef.h>

_Noreturn void abort(void);
char *getenv(const char *name);

#endif

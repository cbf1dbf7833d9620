/* What the capture half uses of Darwin's <dlfcn.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_DLFCN_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_DLFCN_H

#define RTLD_DEFAULT ((void *)-2)

void *dlsym(void *library, const char *name);

#endif

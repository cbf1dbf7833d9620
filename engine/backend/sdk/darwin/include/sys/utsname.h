/* What the capture half uses of Darwin's <sys/utsname.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_UTSNAME_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_UTSNAME_H

struct utsname {
    char sysname[256], nodename[256], release[256], version[256], machine[256];
};

int uname(struct utsname *out);

#endif

/* What the capture half uses of Darwin's <sys/un.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_UN_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_UN_H

#include <sys/types.h>

struct sockaddr_un {
    uint8_t sun_len, sun_family;
    char sun_path[104];
};

#endif

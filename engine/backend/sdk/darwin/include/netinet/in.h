/* What the capture half uses of Darwin's <netinet/in.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_NETINET_IN_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_NETINET_IN_H

#include <sys/types.h>

#define INADDR_LOOPBACK 0x7f000001u
#define htons(x)        __builtin_bswap16(x)
#define ntohs(x)        __builtin_bswap16(x)
#define htonl(x)        __builtin_bswap32(x)

struct in_addr {
    uint32_t s_addr;
};
struct sockaddr_in {
    uint8_t sin_len, sin_family;
    uint16_t sin_port;
    struct in_addr sin_addr;
    char sin_zero[8];
};

#endif

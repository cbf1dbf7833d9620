/* What the capture half uses of Android's <netinet/in.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_NETINET_IN_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_NETINET_IN_H

#include <sys/socket.h>

#include <linux/in.h>

#define htons(x) __builtin_bswap16(x)
#define ntohs(x) __builtin_bswap16(x)
#define htonl(x) __builtin_bswap32(x)

#endif

/* Declarations of the C library of Darwin on 64-bit machines, as much of it as the capture half calls: written from
 * the facts of its public headers, checked by engine/backend/mach/abi.c, which is also compiled against these headers
 * themselves where they are. The build of the library for Darwin sees these, those of engine/backend/sdk/mach/include
 * and the compiler's own, and no others. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_TYPES_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef long ssize_t;
typedef int64_t off_t;
typedef int32_t pid_t, dev_t;
typedef uint32_t uid_t, gid_t, useconds_t;
typedef uint16_t mode_t, nlink_t;
typedef uint64_t ino_t;
typedef long time_t;

#endif

/* Declarations of the parts of Darwin's C library on 64-bit machines that the capture half calls, written from the
 * facts of its public headers. engine/backend/mach/abi.c checks them, and is also compiled with those public headers
 * where they are available. The build of the library for Darwin uses only these headers, those of
 * engine/backend/sdk/mach/include and the compiler's own. */
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

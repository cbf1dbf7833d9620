/* Declarations of the parts of Android's C library that the capture half calls: bionic's ABI for API level 24, written
 * from its documentation and the facts of its public headers, and checked by engine/backend/sdk/bionic/abi.c. The
 * kernel's own headers declare the kernel's types. The build of the Android library uses only these headers, the
 * kernel's and the compiler's. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_TYPES_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef long ssize_t;
#ifdef __LP64__
typedef int64_t off_t;
#else
typedef int32_t off_t; /* the functions declared here take off64_t */
#endif
typedef int64_t off64_t;
typedef int32_t pid_t;
typedef uint32_t uid_t, gid_t, mode_t, id_t, useconds_t;
typedef long time_t;
typedef int clockid_t;
typedef long pthread_t;
#ifdef __LP64__
typedef uint64_t dev_t, ino_t;
#else
typedef uint32_t dev_t, ino_t;
#endif

#endif

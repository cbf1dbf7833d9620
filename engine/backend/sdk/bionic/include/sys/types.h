/* Declarations of Android's C library, as much of it as the capture half calls: bionic's ABI for API level 24, written
 * from its documentation and its public headers' facts, checked by ../../abi.c. Types of the kernel's come from the
 * kernel's own headers. The build of the Android library sees these headers and no others. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_TYPES_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef long ssize_t;
#ifdef __LP64__
typedef int64_t off_t;
#else
typedef int32_t off_t; /* off64_t is what calls here take */
#endif
typedef int64_t off64_t;
typedef int32_t pid_t;
typedef uint32_t uid_t, gid_t, mode_t, id_t;
typedef long time_t;
typedef int clockid_t;
typedef long pthread_t;
#ifdef __LP64__
typedef uint64_t dev_t, ino_t;
#else
typedef uint32_t dev_t, ino_t;
#endif

#endif

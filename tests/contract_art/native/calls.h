/* A library of the app that calls the C library: its pointers are slots, which a capture exchanges. */
#ifndef STROBE_CONTRACT_ART_NATIVE_CALLS_H
#define STROBE_CONTRACT_ART_NATIVE_CALLS_H

#include "engine/backend/common/libc/originals.h"

struct native_calls {
    STROBE_LIBC_HOOKED(STROBE_LIBC_POINTER)
    STROBE_LIBC_BIONIC(STROBE_LIBC_POINTER) /* the test program has those that this C library lacks (bionic.c) */
    long (*syscall)(long number, ...);
    int (*lock_by_call)(pthread_mutex_t *m); /* calls through the procedure linkage table */
    int32_t (*read_critically)(int32_t fd);  /* a @CriticalNative method's function: it gets its arguments alone */
};

#define NATIVE_LIBRARY "libcontract-native.so"
#define NATIVE_SYMBOL  "native_calls"

struct contract;

/* Returns the pointers of the app's library, which it loads into the case's process at the first call. */
const struct native_calls *native_load_app(struct contract *c);

#endif

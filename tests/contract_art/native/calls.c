#include "tests/contract_art/native/calls.h"

#define NATIVE_FILL(name) .name = name,

static int lock_by_call(pthread_mutex_t *m)
{
    return pthread_mutex_lock(m);
}

static int32_t read_critically(int32_t fd)
{
    static char text[64]; /* a sanitizer's code for an array on the stack is longer than CRITICAL_BYTES */
    volatile int32_t bytes = (int32_t)read(fd, text, sizeof text); /* no tail call */
    return bytes;
}

extern const struct native_calls native_calls __attribute__((visibility("default")));
const struct native_calls native_calls = {STROBE_LIBC_HOOKED(NATIVE_FILL) STROBE_LIBC_BIONIC(NATIVE_FILL).syscall =
                                              syscall,
                                          .lock_by_call = lock_by_call, .read_critically = read_critically};

#include "engine/backend/linux/lock_holder.h"

#include "engine/store/record.h"

#include <pthread.h>
#include <stddef.h>

#ifdef __ANDROID__
/* pthread_mutex_internal_t ("libc/bionic/pthread_mutex.cpp"): a state of 16 bits, 16 unused bits, the owner. */
enum { MUTEX_OWNER = sizeof(void *) == 8 ? 4 : 0, RWLOCK_OWNER = 0 };
#else
enum {
    MUTEX_OWNER = offsetof(pthread_mutex_t, __data.__owner),
    RWLOCK_OWNER = offsetof(pthread_rwlock_t, __data.__cur_writer)
};
#endif

uint32_t strobe_linux_lock_holder(const struct strobe_host *host, uint32_t kind, uint64_t address)
{
    uint64_t at = kind == STROBE_KIND_MUTEX ? MUTEX_OWNER : kind == STROBE_KIND_RWLOCK ? RWLOCK_OWNER : 0;
    uint32_t tid = 0;
    size_t copied;
    if (!at || !address || host->read(host->ctx, address + at, &tid, sizeof tid, &copied) != STROBE_OK ||
        copied != sizeof tid)
        return 0;
    return tid;
}

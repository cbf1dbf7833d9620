/* Functions of libSystem that this machine's C library does not have, or that behave differently: allocations that are
 * logged, waits that a suspend does not end early. */
#include "sim/fake/mach/libsystem.h"

#include "sim/fake/mach/kernel.h"

#include <errno.h>
#include <stdlib.h>

malloc_logger_t *malloc_logger;

/* The default zone. Only its address is known. */
static char zone;

static void log_heap(uint32_t type, uintptr_t arg2, uintptr_t arg3, uintptr_t result)
{
    malloc_logger_t *logger = atomic_load((malloc_logger_t * _Atomic *)(void *)&malloc_logger);
    if (logger)
        logger(type | MALLOC_LOG_TYPE_HAS_ZONE, (uintptr_t)&zone, arg2, arg3, result, 0);
}

void *fake_malloc(size_t bytes)
{
    void *p = malloc(bytes);
    log_heap(MALLOC_LOG_TYPE_ALLOCATE, bytes, 0, (uintptr_t)p);
    return p;
}

void *fake_calloc(size_t count, size_t bytes)
{
    void *p = calloc(count, bytes);
    log_heap(MALLOC_LOG_TYPE_ALLOCATE | MALLOC_LOG_TYPE_CLEARED, count * bytes, 0, (uintptr_t)p);
    return p;
}

void *fake_realloc(void *was, size_t bytes)
{
    volatile uintptr_t address = (uintptr_t)was; /* used after the memory is freed */
    void *p = realloc(was, bytes);
    log_heap(MALLOC_LOG_TYPE_ALLOCATE | MALLOC_LOG_TYPE_DEALLOCATE, address, bytes, (uintptr_t)p);
    return p;
}

void fake_free(void *p)
{
    if (p)
        log_heap(MALLOC_LOG_TYPE_DEALLOCATE, (uintptr_t)p, 0, 0);
    free(p);
}

/* ---- waits */

enum { NS = 1000000000 };

static uint64_t timespec_ns(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * NS + (uint64_t)t->tv_nsec;
}

static void sleep_for_ns(uint64_t ns)
{
    fake_into();
    fake_on->waits(true);
    fake_on->sleep_until_ns(fake_on->now_ns() + ns);
    fake_on->waits(false);
    fake_on->leave();
}

int fake_usleep(useconds_t us)
{
    sleep_for_ns(us * UINT64_C(1000));
    return 0;
}

int fake_nanosleep(const struct timespec *how_long, struct timespec *left)
{
    if (how_long->tv_sec < 0 || how_long->tv_nsec < 0 || how_long->tv_nsec >= NS) {
        errno = EINVAL;
        return -1;
    }
    sleep_for_ns(timespec_ns(how_long));
    if (left)
        *left = (struct timespec){0, 0};
    return 0;
}

/* In the kernel, the signal of a stop interrupts the system's wait. The wait is then continued. */
int fake_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    int ready;
    fake_into();
    fake_on->waits(true);
    uint64_t until = fake_on->now_ns() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000;
    do {
        uint64_t now = fake_on->now_ns(), left = until > now ? until - now : 0;
        struct timespec t = {(time_t)(left / NS), (long)(left % NS)};
        ready = ppoll(fds, count, timeout_ms < 0 ? NULL : &t, NULL);
    } while (ready < 0 && errno == EINTR);
    fake_on->waits(false);
    fake_on->leave();
    return ready;
}

int fake_select(int count, fd_set *reading, fd_set *writing, fd_set *excepted, struct timeval *timeout)
{
    int ready;
    struct timeval left = timeout ? *timeout : (struct timeval){0, 0}; /* the system subtracts the time that has
                                                                          passed */
    fake_into();
    fake_on->waits(true);
    do
        ready = select(count, reading, writing, excepted, timeout ? &left : NULL);
    while (ready < 0 && errno == EINTR);
    fake_on->waits(false);
    fake_on->leave();
    return ready;
}

int pthread_cond_timedwait_relative_np(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                       const struct timespec *how_long)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t until = timespec_ns(&now) + timespec_ns(how_long);
    struct timespec at = {(time_t)(until / NS), (long)(until % NS)};
    return pthread_cond_timedwait(condition, mutex, &at);
}

/* This machine has no kernel queues. */
int kevent(int queue, const struct kevent *changes, int change_count, struct kevent *events, int event_count,
           const struct timespec *timeout)
{
    (void)queue;
    (void)changes;
    (void)change_count;
    (void)events;
    (void)event_count;
    (void)timeout;
    errno = EBADF;
    return -1;
}

/* Functions of libSystem that this machine's C library does not have, or that behave differently: allocations that are
 * logged, waits that a suspend does not end early. */
#include "sim/fake/mach/libsystem.h"

#include "sim/fake/mach/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ulock.h>

malloc_logger_t *malloc_logger, *__syscall_logger;

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

/* ---- pages */

void fake_log_pages(uint32_t type, uintptr_t arg2, uintptr_t arg3, uintptr_t result)
{
    malloc_logger_t *logger = atomic_load((malloc_logger_t * _Atomic *)(void *)&__syscall_logger);
    if (logger)
        logger(type, mach_task_self(), arg2, arg3, result, 0);
}

void *fake_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    void *p = mmap(at, bytes, protection, flags, fd, offset);
    if (p != MAP_FAILED)
        fake_log_pages(MALLOC_LOG_TYPE_VM_ALLOCATE, bytes, 0, (uintptr_t)p);
    return p;
}

int fake_munmap(void *at, size_t bytes)
{
    fake_log_pages(MALLOC_LOG_TYPE_VM_DEALLOCATE, (uintptr_t)at, bytes, 0);
    return munmap(at, bytes);
}

/* ---- waits for a word */

static int ulock_answer(uint32_t operation, int error)
{
    if (error == 0)
        return 0;
    errno = error;
    return operation & ULF_NO_ERRNO ? -error : -1;
}

static int wait_for_word(uint32_t operation, void *word, uint64_t value, uint64_t timeout_ns)
{
    _Atomic uint32_t *w = word;
    uint64_t at = timeout_ns ? fake_on->now_ns() + timeout_ns : UINT64_MAX;
    bool in_time = atomic_load(w) != (uint32_t)value || fake_wait_on(w, (uint32_t)value, at);
    return ulock_answer(operation, in_time ? 0 : ETIMEDOUT);
}

int __ulock_wait(uint32_t operation, void *word, uint64_t value, uint32_t timeout_us)
{
    return wait_for_word(operation, word, value, (uint64_t)timeout_us * 1000);
}

int __ulock_wait2(uint32_t operation, void *word, uint64_t value, uint64_t timeout_ns, uint64_t value2)
{
    (void)value2;
    return wait_for_word(operation, word, value, timeout_ns);
}

/* Wakes all waiters; to those of a single wake-up it is a spurious one. */
int __ulock_wake(uint32_t operation, void *word, uint64_t wake_value)
{
    (void)operation;
    (void)wake_value;
    fake_on->wake(word);
    return 0;
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

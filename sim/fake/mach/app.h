/* The lab's app for the engine's hooks: an image that calls other images through pointers. The loader has bound
 * these pointers, and hooks can replace them. One part is in __got, whose segment is read-only after binding, the other
 * part in __la_symbol_ptr. The app makes all its calls through them. */
#ifndef STROBE_SIM_FAKE_MACH_APP_H
#define STROBE_SIM_FAKE_MACH_APP_H

#include "sim/fake/mach/message.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

/* The pointers, in the order in which they are in the image. They are atomic, because hooks are installed while calls
 * are running. */
struct fake_mach_app {
    /* __DATA_CONST,__got */
    void *(*_Atomic malloc)(size_t bytes);
    void *(*_Atomic calloc)(size_t count, size_t bytes);
    void *(*_Atomic realloc)(void *p, size_t bytes);
    void (*_Atomic free)(void *p);
    uint64_t (*_Atomic mach_absolute_time)(void);
    int (*_Atomic clock_gettime)(clockid_t clock, struct timespec *out);
    int (*_Atomic gettimeofday)(struct timeval *restrict out, void *restrict zone);

    /* __DATA,__la_symbol_ptr */
    int (*_Atomic pthread_create)(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *arg);
    int (*_Atomic pthread_join)(pthread_t thread, void **answer);
    int (*_Atomic pthread_setname_np)(const char *name); /* of the calling thread, up to 63 characters */
    int (*_Atomic pthread_mutex_lock)(pthread_mutex_t *mutex);
    int (*_Atomic pthread_mutex_trylock)(pthread_mutex_t *mutex);
    int (*_Atomic pthread_mutex_unlock)(pthread_mutex_t *mutex);
    int (*_Atomic pthread_rwlock_rdlock)(pthread_rwlock_t *lock);
    int (*_Atomic pthread_rwlock_wrlock)(pthread_rwlock_t *lock);
    int (*_Atomic pthread_rwlock_unlock)(pthread_rwlock_t *lock);
    int (*_Atomic pthread_cond_wait)(pthread_cond_t *condition, pthread_mutex_t *mutex);
    int (*_Atomic pthread_cond_timedwait)(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                          const struct timespec *until);
    int (*_Atomic pthread_cond_timedwait_relative_np)(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                                      const struct timespec *how_long);
    int (*_Atomic pthread_cond_signal)(pthread_cond_t *condition);
    int (*_Atomic pthread_cond_broadcast)(pthread_cond_t *condition);
    void (*_Atomic os_unfair_lock_lock)(os_unfair_lock_t lock);
    bool (*_Atomic os_unfair_lock_trylock)(os_unfair_lock_t lock);
    void (*_Atomic os_unfair_lock_unlock)(os_unfair_lock_t lock);
    void (*_Atomic dispatch_sync)(dispatch_queue_t queue, void *block);
    void (*_Atomic dispatch_async)(dispatch_queue_t queue, void *block);
    void (*_Atomic dispatch_barrier_sync)(dispatch_queue_t queue, void *block);
    void (*_Atomic dispatch_once)(dispatch_once_t *once, void *block);
    void (*_Atomic dispatch_sync_f)(dispatch_queue_t queue, void *context, dispatch_function_t work);
    void (*_Atomic dispatch_async_f)(dispatch_queue_t queue, void *context, dispatch_function_t work);
    void (*_Atomic dispatch_barrier_sync_f)(dispatch_queue_t queue, void *context, dispatch_function_t work);
    void (*_Atomic dispatch_once_f)(dispatch_once_t *once, void *context, dispatch_function_t work);
    intptr_t (*_Atomic dispatch_semaphore_wait)(dispatch_semaphore_t semaphore, dispatch_time_t until);
    intptr_t (*_Atomic dispatch_semaphore_signal)(dispatch_semaphore_t semaphore);
    intptr_t (*_Atomic dispatch_group_wait)(dispatch_group_t group, dispatch_time_t until);
    void (*_Atomic dispatch_group_leave)(dispatch_group_t group);
    kern_return_t (*_Atomic semaphore_wait)(semaphore_t semaphore);
    kern_return_t (*_Atomic semaphore_timedwait)(semaphore_t semaphore, mach_timespec_t time);
    kern_return_t (*_Atomic semaphore_signal)(semaphore_t semaphore);
    kern_return_t (*_Atomic semaphore_signal_all)(semaphore_t semaphore);
    mach_msg_return_t (*_Atomic mach_msg)(mach_msg_header_t *message, mach_msg_option_t option,
                                          mach_msg_size_t send_size, mach_msg_size_t room, mach_port_name_t from,
                                          mach_msg_timeout_t timeout_ms, mach_port_name_t notify);
    int (*_Atomic open)(const char *path, int flags, ...);
    int (*_Atomic stat)(const char *path, struct stat *out);
    int (*_Atomic lstat)(const char *path, struct stat *out);
    int (*_Atomic fstat)(int fd, struct stat *out);
    int (*_Atomic close)(int fd);
    ssize_t (*_Atomic read)(int fd, void *out, size_t bytes);
    ssize_t (*_Atomic write)(int fd, const void *from, size_t bytes);
    ssize_t (*_Atomic pread)(int fd, void *out, size_t bytes, off_t at);
    ssize_t (*_Atomic pwrite)(int fd, const void *from, size_t bytes, off_t at);
    ssize_t (*_Atomic readv)(int fd, const struct iovec *to, int count);
    ssize_t (*_Atomic writev)(int fd, const struct iovec *from, int count);
    int (*_Atomic fsync)(int fd);
    ssize_t (*_Atomic send)(int fd, const void *from, size_t bytes, int flags);
    ssize_t (*_Atomic recv)(int fd, void *out, size_t bytes, int flags);
    int (*_Atomic getsockopt)(int fd, int level, int option, void *out, socklen_t *length);
    int (*_Atomic poll)(struct pollfd *fds, nfds_t count, int timeout_ms);
    int (*_Atomic select)(int count, fd_set *read, fd_set *write, fd_set *except, struct timeval *timeout);
    int (*_Atomic pselect)(int count, fd_set *read, fd_set *write, fd_set *except, const struct timespec *timeout,
                           const sigset_t *mask);
    int (*_Atomic kevent)(int queue, const struct kevent *changes, int change_count, struct kevent *events,
                          int event_count, const struct timespec *timeout);
    int (*_Atomic usleep)(useconds_t us);
    int (*_Atomic nanosleep)(const struct timespec *how_long, struct timespec *left);
    int (*_Atomic ulock_wait)(uint32_t operation, void *word, uint64_t value, uint32_t timeout_us);
    int (*_Atomic ulock_wait2)(uint32_t operation, void *word, uint64_t value, uint64_t timeout_ns, uint64_t value2);
    int (*_Atomic ulock_wake)(uint32_t operation, void *word, uint64_t wake_value);
    void *(*_Atomic mmap)(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
    int (*_Atomic munmap)(void *at, size_t bytes);
    int (*_Atomic mprotect)(void *at, size_t bytes, int protection);
    kern_return_t (*_Atomic vm_allocate)(task_t task, vm_address_t *address, vm_size_t bytes, int flags);
    kern_return_t (*_Atomic vm_deallocate)(task_t task, vm_address_t address, vm_size_t bytes);
};

/* Returns the app's own image, which exists from the first call on. */
FAKE_MACH_API struct fake_mach_app *fake_mach_app(void);

/* Maps another image with the same pointers, notifies the listeners (add), and returns its header. NULL: no memory. */
FAKE_MACH_API const struct mach_header_64 *fake_mach_image_open(const char *path);
FAKE_MACH_API struct fake_mach_app *fake_mach_image_app(const struct mach_header_64 *image);

/* Notifies the listeners (remove), and unmaps the image. */
FAKE_MACH_API void fake_mach_image_close(const struct mach_header_64 *image);

/* ---- dispatch, beyond what the backend uses */

/* Makes a serial queue. Its workers run asynchronous work. NULL: no memory. */
FAKE_MACH_API dispatch_queue_t dispatch_queue_create(const char *label, void *attributes);
FAKE_MACH_API dispatch_queue_t dispatch_get_global_queue(intptr_t priority, uintptr_t flags); /* returns a concurrent
                                                                                                 queue */
FAKE_MACH_API dispatch_semaphore_t dispatch_semaphore_create(intptr_t value);
FAKE_MACH_API dispatch_group_t dispatch_group_create(void);
FAKE_MACH_API void dispatch_group_enter(dispatch_group_t group);
FAKE_MACH_API void dispatch_release(void *object); /* releases a queue; nothing of it runs or waits any more */
FAKE_MACH_API dispatch_time_t dispatch_time(dispatch_time_t from, int64_t delta_ns); /* from: now */

#endif

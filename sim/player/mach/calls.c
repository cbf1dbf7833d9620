#include "sim/player/mach/calls.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { NS = 1000000000, NS_PER_MS = 1000000 };

/* ---- semaphores */

struct counted {
    dispatch_semaphore_t semaphore;
    _Atomic int count;
};
_Static_assert(sizeof(struct counted) <= sizeof(sem_t), "struct counted is stored in a sem_t");

static struct counted *counted_of(sem_t *s)
{
    return (struct counted *)(void *)s;
}

int sim_mach_sem_init(sem_t *s, int shared, unsigned value)
{
    (void)shared;
    counted_of(s)->semaphore = dispatch_semaphore_create((intptr_t)value);
    atomic_store(&counted_of(s)->count, (int)value);
    return counted_of(s)->semaphore ? 0 : -1;
}

static int counted_wait(sem_t *s, dispatch_time_t until)
{
    if ((fake_mach_app()->dispatch_semaphore_wait)(counted_of(s)->semaphore, until) != 0) {
        errno = ETIMEDOUT;
        return -1;
    }
    atomic_fetch_sub(&counted_of(s)->count, 1);
    return 0;
}

int sim_mach_sem_wait(sem_t *s)
{
    return counted_wait(s, DISPATCH_TIME_FOREVER);
}

int sim_mach_sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until)
{
    struct timespec now;
    clock_gettime(clock, &now);
    int64_t left = (until->tv_sec - now.tv_sec) * NS + until->tv_nsec - now.tv_nsec;
    return counted_wait(s, dispatch_time(DISPATCH_TIME_NOW, left > 0 ? left : 0));
}

int sim_mach_sem_post(sem_t *s)
{
    atomic_fetch_add(&counted_of(s)->count, 1);
    (fake_mach_app()->dispatch_semaphore_signal)(counted_of(s)->semaphore);
    return 0;
}

int sim_mach_sem_getvalue(sem_t *s, int *value)
{
    *value = atomic_load(&counted_of(s)->count);
    return 0;
}

/* ---- ports as events */

/* A port queues a limited number of messages; a sender waits while its queue is full. A post is therefore dropped while
 * MESSAGES_MAX messages are queued. That loses no wake-up, because a receiver checks its queue after each message. */
enum { PORTS = 256, MESSAGES_MAX = 8 };
static struct {
    mach_port_name_t name;
    _Atomic int sent;
} ports[PORTS];
static _Atomic int port_count;

int sim_mach_eventfd(unsigned value, int flags)
{
    mach_port_name_t name;
    (void)value;
    (void)flags;
    int i = atomic_fetch_add(&port_count, 1);
    if (i >= PORTS || mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &name) != KERN_SUCCESS) {
        errno = EMFILE;
        return -1;
    }
    ports[i].name = name;
    return i;
}

int sim_mach_ppoll(struct pollfd *p, nfds_t count, const struct timespec *patience, const sigset_t *mask)
{
    union {
        mach_msg_header_t header;
        char bytes[FAKE_MACH_MESSAGE_BYTES];
    } message;
    uint64_t ns = (uint64_t)patience->tv_sec * NS + (uint64_t)patience->tv_nsec;
    mach_msg_timeout_t ms = (mach_msg_timeout_t)((ns + NS_PER_MS - 1) / NS_PER_MS);
    (void)count;
    (void)mask;
    if ((fake_mach_app()->mach_msg)(&message.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof message,
                                    ports[p->fd].name, ms, MACH_PORT_NULL) != KERN_SUCCESS)
        return 0;
    atomic_fetch_sub(&ports[p->fd].sent, 1);
    return 1;
}

/* Sends a message to port `i`. */
int sim_mach_eventfd_write(int i, eventfd_t value)
{
    mach_msg_header_t message = {.msgh_size = sizeof message, .msgh_remote_port = ports[i].name};
    if (atomic_fetch_add(&ports[i].sent, 1) >= MESSAGES_MAX)
        atomic_fetch_sub(&ports[i].sent, 1);
    else
        (fake_mach_app()->mach_msg)(&message, MACH_SEND_MSG, sizeof message, 0, MACH_PORT_NULL, 0, MACH_PORT_NULL);
    (void)value;
    return 0;
}

long sim_mach_syscall(long number, ...)
{
    switch (number) {
    case SYS_gettid: return syscall(SYS_gettid);
    case SYS_read: return sizeof(uint64_t); /* sim_mach_ppoll has received the message */
    default: errno = ENOSYS; return -1;
    }
}

/* ---- devices */

void sim_mach_device(int *timer, uint64_t latency_ns)
{
    uint64_t expired;
    struct itimerspec t = {.it_value = {(time_t)(latency_ns / NS), (long)(latency_ns % NS)}};
    if (*timer < 0)
        *timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (*timer < 0 || timerfd_settime(*timer, 0, &t, NULL) != 0)
        return;
    ssize_t n;
    do
        n = (fake_mach_app()->read)(*timer, &expired, sizeof expired);
    while (n < 0 && errno == EINTR);
}

/* A capture changes no result of the C library's functions that the app's
 * library calls, while it runs and after it. */
#include "tests/contract_art/native/calls.h"
#include "tests/contract_art/support/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

enum { OUTCOMES = 200, BYTES = 64 };

struct outcome {
    const char *call;
    long result;
    int error;
};

/* The calls of one round. The functions are those of `f`. */
struct round {
    struct native_calls f;
    struct outcome outcome[OUTCOMES];
    int count;
};

static char bytes[BYTES] = "0123456789abcdef";
static struct iovec vector = {bytes, 8};
static const struct timespec past = {1, 0}, none = {0, 0};

static long prepare_errno(void)
{
    errno = 1000; /* a call that succeeds leaves it */
    return 0;
}

static long note_outcome(struct round *r, const char *call, long result)
{
    if (r->count < OUTCOMES)
        r->outcome[r->count++] = (struct outcome){call, result, errno};
    return result;
}

/* Calls a function that the C library has; Android's lacks some at early
 * levels. */
#define CALL(name, ...) (r->f.name ? (prepare_errno(), note_outcome(r, #name, (long)r->f.name(__VA_ARGS__))) : 0)
#define OPENED(name, ...)                                                                                              \
    (r->f.name ? (prepare_errno(), descriptor_of(r, #name, r->f.name(__VA_ARGS__))) : descriptor_of(r, #name, -1))

/* Numbers of descriptors differ between rounds, so only the sign of such a
 * result counts. */
static int descriptor_of(struct round *r, const char *call, int fd)
{
    note_outcome(r, call, fd < 0 ? -1 : 0);
    return fd;
}

static void use_files(struct round *r)
{
    char path[TEMPORARY_BYTES];
    temporary_path(path, "strobe-results-%d", (int)getpid());
    int fd = OPENED(creat, path, 0600);
    CALL(write, fd, bytes, 16);
    CALL(writev, fd, &vector, 1);
    CALL(pwrite, fd, bytes, 8, 4);
    CALL(pwrite64, fd, bytes, 8, 4);
    CALL(__write_chk, fd, bytes, 8, BYTES);
    CALL(__pwrite_chk, fd, bytes, 8, 0, BYTES);
    CALL(__pwrite64_chk, fd, bytes, 8, 0, BYTES);
    CALL(read, fd, bytes, 8); /* the file is open for writing only */
    CALL(fsync, fd);
    CALL(fdatasync, fd);
    CALL(flock, fd, LOCK_EX);
    CALL(close, fd);
    CALL(close, -1);
    fd = OPENED(open, path, O_RDWR);
    CALL(read, fd, bytes, 4);
    CALL(__read_chk, fd, bytes, 4, BYTES);
    CALL(pread, fd, bytes, 4, 1);
    CALL(pread64, fd, bytes, 4, 1);
    CALL(__pread_chk, fd, bytes, 4, 1, BYTES);
    CALL(__pread64_chk, fd, bytes, 4, 1, BYTES);
    CALL(readv, fd, &vector, 1);
    CALL(close, fd);
    CALL(close, OPENED(creat64, path, 0600));
    CALL(close, OPENED(open64, path, O_RDONLY));
    CALL(close, OPENED(openat, AT_FDCWD, path, O_RDWR | O_CREAT, 0600));
    CALL(close, OPENED(openat64, AT_FDCWD, path, O_RDONLY));
    CALL(close, OPENED(__open_2, path, O_RDONLY));
    CALL(close, OPENED(__openat_2, AT_FDCWD, path, O_RDONLY));
    OPENED(open, "/nowhere/at/all", O_RDONLY);
#ifndef __ANDROID__
    CALL(close, OPENED(__open64_2, path, O_RDONLY));
    CALL(mq_send, -1, bytes, 1, 0);
    CALL(mq_timedsend, -1, bytes, 1, 0, &past);
    CALL(mq_receive, -1, bytes, BYTES, NULL);
    CALL(mq_timedreceive, -1, bytes, BYTES, NULL, &past);
#endif
    unlink(path);
}

static void exchange_messages(struct round *r, int from, int to)
{
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    struct mmsghdr messages = {.msg_hdr = message};
    CALL(send, from, bytes, 8, 0);
    CALL(sendto, from, bytes, 8, 0, NULL, 0);
    CALL(__sendto_chk, from, bytes, 8, BYTES, 0, NULL, 0);
    CALL(sendmsg, from, &message, 0);
    CALL(sendmmsg, from, &messages, 1, 0);
    CALL(recv, to, bytes, 4, 0);
#ifndef __ANDROID__
    CALL(__recv_chk, to, bytes, 4, BYTES, 0);
#endif
    CALL(recvfrom, to, bytes, 4, 0, NULL, NULL);
    CALL(__recvfrom_chk, to, bytes, 4, BYTES, 0, NULL, NULL);
    CALL(recvmsg, to, &message, 0);
    CALL(recvmmsg, to, &messages, 1, 0, NULL);
    CALL(recv, to, bytes, BYTES, MSG_DONTWAIT);
    CALL(recv, to, bytes, BYTES, MSG_DONTWAIT); /* nothing is left */
}

static void use_sockets(struct round *r)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX}; /* the kernel chooses an abstract name */
    socklen_t length = sizeof name;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), pair[2] = {-1, -1};
    if (bind(listener, (struct sockaddr *)&name, sizeof(sa_family_t)) || listen(listener, 4) ||
        getsockname(listener, (struct sockaddr *)&name, &length))
        abort();
    for (int i = 0; i < 2; i++) {
        int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CALL(connect, client, (struct sockaddr *)&name, length);
        CALL(close, i ? OPENED(accept4, listener, NULL, NULL, SOCK_CLOEXEC) : OPENED(accept, listener, NULL, NULL));
        CALL(close, client);
    }
    CALL(close, listener);
    CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, pair);
    exchange_messages(r, pair[0], pair[1]);
    CALL(close, pair[0]);
    CALL(close, pair[1]);
}

static void use_descriptors(struct round *r)
{
    int ends[2] = {-1, -1}, event = OPENED(eventfd, 0, EFD_NONBLOCK);
    eventfd_t value = 0;
    CALL(eventfd_read, event, &value); /* nothing is there */
    CALL(eventfd_write, event, 3);
    CALL(eventfd_read, event, &value);
    CALL(pipe2, ends, O_CLOEXEC);
    CALL(dup2, ends[0], event);
    CALL(dup3, ends[1], event, O_CLOEXEC);
    CALL(close, OPENED(dup, event));
    CALL(close, event);
    CALL(close, ends[0]);
    CALL(close, ends[1]);
    CALL(pipe, ends);
    CALL(dup, -1);
    CALL(dup3, ends[0], ends[0], 0); /* fails: both are one */
    CALL(close, ends[0]);
    CALL(close, ends[1]);
}

static void use_polls(struct round *r)
{
    struct epoll_event event = {.events = EPOLLIN}, found;
    struct timeval at_once = {0, 0};
    int fd = eventfd(0, 0), set = OPENED(epoll_create1, EPOLL_CLOEXEC);
    struct pollfd polled = {fd, POLLIN, 0};
    CALL(epoll_ctl, set, EPOLL_CTL_ADD, fd, &event);
    for (int ready = 0; ready < 2; ready++) {
        CALL(poll, &polled, 1, 0);
        CALL(__poll_chk, &polled, 1, 0, sizeof polled);
        CALL(ppoll, &polled, 1, &none, NULL);
        CALL(__ppoll_chk, &polled, 1, &none, NULL, sizeof polled);
        CALL(epoll_wait, set, &found, 1, 0);
        CALL(epoll_pwait, set, &found, 1, 0, NULL);
        CALL(eventfd_write, fd, 1);
    }
    CALL(select, 0, NULL, NULL, NULL, &at_once);
    CALL(pselect, 0, NULL, NULL, NULL, &none, NULL);
    CALL(epoll_ctl, set, EPOLL_CTL_DEL, fd, NULL);
    CALL(epoll_ctl, set, EPOLL_CTL_DEL, fd, NULL); /* fails: it is not there */
    CALL(close, set);
    CALL(close, OPENED(epoll_create, 1));
    close(fd);
}

static void use_locks(struct round *r)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_barrier_t barrier;
    sem_t s;
    pthread_barrier_init(&barrier, NULL, 1);
    sem_init(&s, 0, 0);
    CALL(pthread_mutex_lock, &m);
    CALL(pthread_mutex_timedlock, &m, &past);
    CALL(pthread_mutex_clocklock, &m, CLOCK_MONOTONIC, &past);
    CALL(pthread_mutex_timedlock_monotonic_np, &m, &past);
    CALL(pthread_cond_timedwait, &condition, &m, &past);
    CALL(pthread_cond_clockwait, &condition, &m, CLOCK_MONOTONIC, &past);
    CALL(pthread_cond_timedwait_monotonic_np, &condition, &m, &past);
    CALL(pthread_cond_signal, &condition);
    CALL(pthread_cond_broadcast, &condition);
    CALL(pthread_mutex_unlock, &m);
    CALL(pthread_rwlock_wrlock, &l);
    CALL(pthread_rwlock_timedrdlock, &l, &past);
    CALL(pthread_rwlock_timedwrlock, &l, &past);
    CALL(pthread_rwlock_timedrdlock_monotonic_np, &l, &past);
    CALL(pthread_rwlock_timedwrlock_monotonic_np, &l, &past);
    CALL(pthread_rwlock_rdlock, &l); /* fails: the caller holds it for writing */
    CALL(pthread_rwlock_unlock, &l);
    CALL(pthread_rwlock_rdlock, &l);
    CALL(pthread_rwlock_unlock, &l);
    CALL(pthread_barrier_wait, &barrier);
    CALL(sem_post, &s);
    CALL(sem_wait, &s);
    CALL(sem_timedwait, &s, &past);
    CALL(sem_clockwait, &s, CLOCK_MONOTONIC, &past);
    CALL(sem_timedwait_monotonic_np, &s, &past);
}

static void *return_at_once(void *p)
{
    return p;
}

static void use_waits(struct round *r)
{
    pthread_t thread;
    siginfo_t info;
    int status;
    CALL(nanosleep, &none, NULL);
    CALL(clock_nanosleep, CLOCK_MONOTONIC, 0, &none, NULL);
    CALL(clock_nanosleep, -1, 0, &none, NULL); /* fails: no clock */
    CALL(usleep, 0);
    CALL(sleep, 0);
    pthread_create(&thread, NULL, return_at_once, NULL);
    CALL(pthread_join, thread, NULL);
#ifndef __ANDROID__
    pthread_create(&thread, NULL, return_at_once, NULL);
    while (CALL(pthread_timedjoin_np, thread, NULL, &past) == ETIMEDOUT)
        r->count--; /* until it has ended */
#endif
    CALL(waitpid, 1, &status, 0); /* fails: no child */
    CALL(wait4, 1, &status, 0, NULL);
    CALL(waitid, P_PID, 1, &info, WEXITED);
    CALL(wait, &status);
}

static void play_round(struct round *r)
{
    r->count = 0;
    use_files(r);
    use_sockets(r);
    use_descriptors(r);
    use_polls(r);
    use_locks(r);
    use_waits(r);
}

static void compare_rounds(struct contract *c, const struct round *plain, const struct round *other, const char *when)
{
    CHECK(c, plain->count > 100 && plain->count < OUTCOMES, "%d calls", plain->count);
    CHECK(c, plain->count == other->count, "%d calls %s, %d without a capture", other->count, when, plain->count);
    for (int i = 0; i < plain->count && i < other->count; i++) {
        const struct outcome *a = &plain->outcome[i], *b = &other->outcome[i];
        CHECK(c, a->result == b->result && a->error == b->error,
              "%s: %ld, errno %d %s; %ld, errno %d without a capture", a->call, b->result, b->error, when, a->result,
              a->error);
    }
}

/* A library may keep the pointer to a function, which is then a hook for ever.
 */
static void a_call_has_the_same_result_in_a_capture_and_through_a_hook_that_is_kept_after_it(struct contract *c)
{
    static struct round plain, captured, kept;
    struct capture k;
    struct strobe_config config;
    const struct native_calls *app = native_load_app(c);
    plain.f = *app;
    play_round(&plain);
    capture_config(&config);
    if (!capture_begin(c, &config, &k))
        return;
    captured.f = kept.f = *app;
    play_round(&captured);
    capture_end(&k);
    play_round(&kept);
    compare_rounds(c, &plain, &captured, "in a capture");
    compare_rounds(c, &plain, &kept, "after a capture");
    CHECK(c, capture_requests(&k, STROBE_KIND_OPEN) >= 10, "opens are not recorded");
    CHECK(c, capture_requests(&k, STROBE_KIND_NET) >= 17, "calls on sockets are not recorded");
    capture_drop(&k);
}

const struct contract_case contract_cases_results[] = {
    {"a_call_has_the_same_result_in_a_capture_and_through_a_hook_that_is_kept_"
     "after_it",
     a_call_has_the_same_result_in_a_capture_and_through_a_hook_that_is_kept_after_it, 0},
    {0}};

/* Calls of each hooked function of the C library, for programs that show that a capture changes no result. A program
 * includes this header in its one source, calls `use_all` without a capture, sets `compares`, and calls `use_all` in a
 * capture: `differences` then counts the calls with another result or errno, and `count_of` has the number of calls of
 * each kind in the last round. */
#ifndef STROBE_SUPPORT_HOOKED_CALLS_H
#define STROBE_SUPPORT_HOOKED_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What programs call that are built with _FORTIFY_SOURCE. */
ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t bytes, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t bytes, off64_t at, size_t room);
ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *to, size_t bytes, size_t room, int flags, struct sockaddr *from,
                       socklen_t *length);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);

enum kind { READ, WRITE, OPEN, CLOSE, SYNC, POLL, NET, SLEEP, MUTEX, RWLOCK, COND, SEM, CHILD, KINDS, NO_KIND = KINDS };
static const char *const kind_names[KINDS] = {"read",  "write", "open",   "close", "sync", "poll", "net",
                                              "sleep", "mutex", "rwlock", "cond",  "sem",  "child"};

enum { CALLS_MAX = 400 };
static struct outcome {
    long result;
    int error;
} outcomes[CALLS_MAX];
static int calls, compares, differences, count_of[KINDS + 1];

/* Stores the outcome of a call in the first round, and compares it with the stored one in the second. Descriptors
 * differ when the capture has opened one, so only the sign of those counts. */
static long note(enum kind kind, const char *call, long result, int error)
{
    struct outcome *o = &outcomes[calls++];
    struct outcome now = {kind == OPEN && result > 0 ? 1 : result, error};
    if (!compares)
        *o = now;
    else if (o->result != now.result || o->error != now.error) {
        printf("%s: %ld, errno %d; without a capture %ld, errno %d\n", call, now.result, now.error, o->result,
               o->error);
        differences++;
    }
    count_of[kind]++;
    return result;
}

static long before_call(void)
{
    errno = 1000; /* a call that succeeds leaves it */
    return 0;
}

#define CALL(kind, expression) (before_call(), note(kind, #expression, (long)(expression), errno))

static const struct timespec past = {1, 0}, none = {0, 0};
static char bytes[64];
static volatile size_t most_bytes = PTRDIFF_MAX; /* more than there is memory */
static struct iovec vector = {bytes, 16};

static void use_files(const char *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/file", folder);
    int fd = (int)CALL(OPEN, creat(path, 0600));
    CALL(WRITE, write(fd, bytes, 64));
    CALL(WRITE, writev(fd, &vector, 1));
    CALL(WRITE, pwrite(fd, bytes, 8, 4));
    CALL(WRITE, pwrite64(fd, bytes, 8, 4));
    CALL(READ, read(fd, bytes, 8)); /* fails: the file is open for writing only */
    CALL(SYNC, fsync(fd));
    CALL(SYNC, fdatasync(fd));
    CALL(SYNC, flock(fd, LOCK_EX));
    CALL(SYNC, fsync(-1));
    CALL(CLOSE, close(fd));
    CALL(CLOSE, close(-1));
    fd = (int)CALL(OPEN, open(path, O_RDONLY));
    CALL(READ, read(fd, bytes, 8));
    CALL(READ, __read_chk(fd, bytes, 8, sizeof bytes));
    CALL(READ, pread(fd, bytes, 8, 1));
    CALL(READ, pread64(fd, bytes, 8, 1));
    CALL(READ, __pread_chk(fd, bytes, 8, 1, sizeof bytes));
    CALL(READ, __pread64_chk(fd, bytes, 8, 1, sizeof bytes));
    CALL(READ, readv(fd, &vector, 1));
    CALL(WRITE, write(fd, bytes, 8));
    CALL(CLOSE, close(fd));
    CALL(CLOSE, close((int)CALL(OPEN, open64(path, O_RDONLY))));
    CALL(CLOSE, close((int)CALL(OPEN, openat(AT_FDCWD, path, O_RDWR | O_CREAT, 0600))));
    CALL(CLOSE, close((int)CALL(OPEN, openat64(AT_FDCWD, path, O_RDONLY))));
    CALL(CLOSE, close((int)CALL(OPEN, __open_2(path, O_RDONLY))));
    CALL(CLOSE, close((int)CALL(OPEN, __open64_2(path, O_RDONLY))));
    CALL(CLOSE, close((int)CALL(OPEN, creat64(path, 0600))));
    CALL(CLOSE, close((int)CALL(OPEN, open(folder, O_RDWR | O_TMPFILE, 0600))));
    CALL(OPEN, open("/nowhere/at/all", O_RDONLY));
}

static void use_sockets(const char *folder)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    struct mmsghdr messages = {.msg_hdr = message};
    snprintf(name.sun_path, sizeof name.sun_path, "%s/socket", folder);
    unlink(name.sun_path);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), pair[2];
    if (bind(listener, (struct sockaddr *)&name, sizeof name) || listen(listener, 4) ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        abort();
    for (int i = 0; i < 2; i++) {
        int client = socket(AF_UNIX, SOCK_STREAM, 0);
        CALL(NET, connect(client, (struct sockaddr *)&name, sizeof name));
        long served = i ? CALL(NET, accept4(listener, NULL, NULL, SOCK_CLOEXEC) < 0)
                        : CALL(NET, accept(listener, NULL, NULL) < 0);
        (void)served;
        CALL(CLOSE, close(client));
    }
    CALL(NET, send(pair[0], bytes, 16, 0));
    CALL(NET, recv(pair[1], bytes, 16, 0));
    CALL(NET, sendto(pair[0], bytes, 16, 0, NULL, 0));
    CALL(NET, recvfrom(pair[1], bytes, 16, 0, NULL, NULL));
    CALL(NET, sendmsg(pair[0], &message, 0));
    CALL(NET, recvmsg(pair[1], &message, 0));
    CALL(NET, sendmmsg(pair[0], &messages, 1, 0));
    CALL(NET, recvmmsg(pair[1], &messages, 1, 0, NULL));
    CALL(NET, send(pair[0], bytes, 32, 0));
    CALL(NET, __recv_chk(pair[1], bytes, 16, sizeof bytes, 0));
    CALL(NET, __recvfrom_chk(pair[1], bytes, 16, sizeof bytes, 0, NULL, NULL));
    CALL(NET, recv(pair[1], bytes, 16, MSG_DONTWAIT)); /* fails: there is nothing */
    CALL(NET, send(-1, bytes, 16, 0));
    CALL(CLOSE, close(pair[0]));
    CALL(CLOSE, close(pair[1]));
    CALL(CLOSE, close(listener));
}

static void use_queues(void)
{
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = sizeof bytes};
    char name[32];
    snprintf(name, sizeof name, "/strobe-%d", (int)getpid());
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attributes);
    mq_unlink(name);
    if (queue < 0)
        return; /* the machine has no queues: both rounds leave them out */
    CALL(WRITE, mq_send(queue, bytes, 8, 0));
    CALL(WRITE, mq_timedsend(queue, bytes, 8, 0, &past));
    CALL(READ, mq_receive(queue, bytes, sizeof bytes, NULL));
    CALL(READ, mq_timedreceive(queue, bytes, sizeof bytes, NULL, &past));
    CALL(READ, mq_timedreceive(queue, bytes, sizeof bytes, NULL, &past)); /* fails: it is empty */
    mq_close(queue);
}

static void use_polls(void)
{
    int ends[2], event = eventfd(0, 0);
    fd_set set;
    struct timeval at_once = {0, 0};
    struct epoll_event ready, wanted = {.events = EPOLLIN};
    eventfd_t value;
    if (pipe(ends))
        abort();
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    int epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &wanted);
    for (int i = 0; i < 2; i++) { /* nothing to read, then something */
        CALL(POLL, poll(&polled, 1, 0));
        CALL(POLL, __poll_chk(&polled, 1, 0, sizeof polled));
        CALL(POLL, ppoll(&polled, 1, &none, NULL));
        FD_ZERO(&set);
        FD_SET(ends[0], &set);
        CALL(POLL, select(ends[0] + 1, &set, NULL, NULL, &at_once));
        FD_SET(ends[0], &set);
        CALL(POLL, pselect(ends[0] + 1, &set, NULL, NULL, &none, NULL));
        CALL(POLL, epoll_wait(epoll, &ready, 1, 0));
        CALL(POLL, epoll_pwait(epoll, &ready, 1, 0, NULL));
        CALL(WRITE, write(ends[1], bytes, 1));
    }
    CALL(WRITE, eventfd_write(event, 3));
    CALL(READ, eventfd_read(event, &value));
    epoll_ctl(epoll, EPOLL_CTL_DEL, ends[0], NULL);
    int copy = dup(ends[0]);
    CALL(READ, read(copy, bytes, 1));
    CALL(READ, readv(dup3(ends[0], copy, O_CLOEXEC), &vector, 1));
    CALL(CLOSE, close(copy));
    CALL(CLOSE, close(dup2(ends[1], ends[0])));
    CALL(CLOSE, close(ends[1]));
    CALL(CLOSE, close(epoll));
    CALL(CLOSE, close(event));
}

static void use_locks(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    pthread_barrier_t b;
    sem_t s;
    CALL(MUTEX, pthread_mutex_lock(&m));
    CALL(MUTEX, pthread_mutex_timedlock(&m, &past)); /* fails: this thread holds it */
    CALL(MUTEX, pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &past));
    CALL(COND, pthread_cond_timedwait(&c, &m, &past));
    CALL(COND, pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &past));
    pthread_cond_signal(&c);
    pthread_cond_broadcast(&c);
    pthread_mutex_unlock(&m);
    CALL(RWLOCK, pthread_rwlock_rdlock(&l));
    CALL(RWLOCK, pthread_rwlock_timedrdlock(&l, &past));
    CALL(RWLOCK, pthread_rwlock_timedwrlock(&l, &past)); /* fails: this thread reads */
    pthread_rwlock_unlock(&l);
    pthread_rwlock_unlock(&l);
    CALL(RWLOCK, pthread_rwlock_wrlock(&l));
    CALL(RWLOCK, pthread_rwlock_timedrdlock(&l, &past)); /* fails: this thread writes */
    pthread_rwlock_unlock(&l);
    pthread_barrier_init(&b, NULL, 1);
    CALL(COND, pthread_barrier_wait(&b));
    sem_init(&s, 0, 2);
    CALL(SEM, sem_wait(&s));
    CALL(SEM, sem_timedwait(&s, &past));
    CALL(SEM, sem_timedwait(&s, &past)); /* fails: it is 0 */
    CALL(SEM, sem_clockwait(&s, CLOCK_MONOTONIC, &past));
    sem_post(&s);
    CALL(SEM, sem_wait(&s));
}

static void use_waits(void)
{
    int status;
    siginfo_t info;
    CALL(SLEEP, nanosleep(&none, NULL));
    CALL(SLEEP, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL));
    CALL(SLEEP, usleep(1));
    CALL(SLEEP, sleep(0));
    CALL(CHILD, wait(&status)); /* fail: there is no child */
    CALL(CHILD, waitpid(-1, &status, 0));
    CALL(CHILD, wait4(-1, &status, 0, NULL));
    CALL(CHILD, waitid(P_ALL, 0, &info, WEXITED));
}

/* Returns whether the block is there and aligned. Writes to it and frees it. */
__attribute__((noinline)) static int take_block(void *block, size_t alignment, size_t size)
{
    int aligned = block && (uintptr_t)block % alignment == 0;
    if (block)
        memset(block, 1, size);
    free(block);
    return aligned;
}

static void use_memory(void)
{
    void *block = NULL;
    CALL(NO_KIND, take_block(malloc(100), 16, 100));
    CALL(NO_KIND, take_block(calloc(10, 10), 16, 100));
    CALL(NO_KIND, take_block(realloc(malloc(10), 1000), 16, 1000));
    CALL(NO_KIND, take_block(realloc(NULL, 100), 16, 100));
    CALL(NO_KIND, take_block(reallocarray(NULL, 10, 10), 16, 100));
    CALL(NO_KIND, take_block(aligned_alloc(256, 512), 256, 512));
    CALL(NO_KIND, take_block(memalign(1024, 100), 1024, 100));
    CALL(NO_KIND, take_block(valloc(100), 4096, 100));
    CALL(NO_KIND, take_block(pvalloc(100), 4096, 4096));
    CALL(NO_KIND, posix_memalign(&block, 512, 100));
    CALL(NO_KIND, take_block(block, 512, 100));
    CALL(NO_KIND, posix_memalign(&block, 3, 100)); /* fails: no power of two */
    CALL(NO_KIND, take_block(malloc(most_bytes), 16, 0));
    CALL(NO_KIND, take_block(calloc(most_bytes, 16), 16, 0));
    CALL(NO_KIND, take_block(aligned_alloc(64, most_bytes), 16, 0));
    CALL(NO_KIND, take_block(NULL, 16, 0));
}

static void on_signal(int number)
{
    (void)number;
}

/* Each wait finds the signal pending, because it is blocked when it is sent. */
static void use_signals(void)
{
    sigset_t own, before, without;
    siginfo_t info;
    struct signalfd_siginfo text;
    int number = 0;
    signal(SIGUSR1, on_signal);
    sigemptyset(&own);
    sigaddset(&own, SIGUSR1);
    CALL(NO_KIND, pthread_sigmask(SIG_BLOCK, &own, &before));
    without = before;
    sigdelset(&without, SIGUSR1);
    CALL(SLEEP, sigtimedwait(&own, &info, &none)); /* fails: none is pending */
    raise(SIGUSR1);
    CALL(SLEEP, sigwait(&own, &number));
    raise(SIGUSR1);
    CALL(SLEEP, sigwaitinfo(&own, &info));
    raise(SIGUSR1);
    CALL(SLEEP, sigsuspend(&without));
    int fd = signalfd(-1, &own, SFD_CLOEXEC);
    raise(SIGUSR1);
    CALL(READ, read(fd, &text, sizeof text) > 0 ? (long)text.ssi_signo : -1);
    CALL(CLOSE, close(fd));
    CALL(NO_KIND, pthread_sigmask(SIG_SETMASK, &before, NULL));
    CALL(NO_KIND, sigaction(SIGUSR1, NULL, NULL));
    CALL(NO_KIND, sigaction(SIGKILL, &(struct sigaction){.sa_handler = on_signal}, NULL)); /* fails */
    CALL(NO_KIND, syscall(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0));
    CALL(NO_KIND, syscall(SYS_execve, "/nowhere/program", (char *[]){"x", NULL}, environ));
    CALL(NO_KIND, syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, NULL)); /* fails */
    CALL(NO_KIND, syscall(-1));
}

/* ---- calls that end their thread ---- */

static int quiet[2], quiet_file; /* nothing comes from the pipe */
static char quiet_path[512];
static struct epoll_event no_event;

/* X(kind, call) for the calls at which a thread can be cancelled. The hook of sem_wait counts no call that a request
 * to cancel ends before it waits. */
#define CANCELLATION_POINTS(X)                                                                                         \
    X(READ, read(quiet[0], bytes, 1))                                                                                  \
    X(READ, __read_chk(quiet[0], bytes, 1, sizeof bytes))                                                              \
    X(READ, pread(quiet_file, bytes, 1, 0))                                                                            \
    X(READ, pread64(quiet_file, bytes, 1, 0))                                                                          \
    X(READ, __pread_chk(quiet_file, bytes, 1, 0, sizeof bytes))                                                        \
    X(READ, __pread64_chk(quiet_file, bytes, 1, 0, sizeof bytes))                                                      \
    X(READ, readv(quiet[0], &vector, 1))                                                                               \
    X(WRITE, write(quiet_file, bytes, 1))                                                                              \
    X(WRITE, pwrite(quiet_file, bytes, 1, 0))                                                                          \
    X(WRITE, pwrite64(quiet_file, bytes, 1, 0))                                                                        \
    X(WRITE, writev(quiet_file, &vector, 1))                                                                           \
    X(OPEN, open(quiet_path, O_RDONLY))                                                                                \
    X(OPEN, open64(quiet_path, O_RDONLY))                                                                              \
    X(OPEN, openat(AT_FDCWD, quiet_path, O_RDONLY))                                                                    \
    X(OPEN, openat64(AT_FDCWD, quiet_path, O_RDONLY))                                                                  \
    X(OPEN, creat(quiet_path, 0600))                                                                                   \
    X(OPEN, creat64(quiet_path, 0600))                                                                                 \
    X(SYNC, fsync(quiet_file))                                                                                         \
    X(SYNC, fdatasync(quiet_file))                                                                                     \
    X(POLL, poll(NULL, 0, -1))                                                                                         \
    X(POLL, __poll_chk(NULL, 0, -1, 0))                                                                                \
    X(POLL, ppoll(NULL, 0, NULL, NULL))                                                                                \
    X(POLL, select(0, NULL, NULL, NULL, NULL))                                                                         \
    X(POLL, pselect(0, NULL, NULL, NULL, NULL, NULL))                                                                  \
    X(POLL, epoll_wait(-1, &no_event, 1, -1))                                                                          \
    X(POLL, epoll_pwait(-1, &no_event, 1, -1, NULL))                                                                   \
    X(NET, connect(-1, NULL, 0))                                                                                       \
    X(NET, accept(-1, NULL, NULL))                                                                                     \
    X(NET, accept4(-1, NULL, NULL, 0))                                                                                 \
    X(NET, send(-1, bytes, 1, 0))                                                                                      \
    X(NET, sendto(-1, bytes, 1, 0, NULL, 0))                                                                           \
    X(NET, sendmsg(-1, NULL, 0))                                                                                       \
    X(NET, sendmmsg(-1, NULL, 1, 0))                                                                                   \
    X(NET, recv(-1, bytes, 1, 0))                                                                                      \
    X(NET, __recv_chk(-1, bytes, 1, sizeof bytes, 0))                                                                  \
    X(NET, recvfrom(-1, bytes, 1, 0, NULL, NULL))                                                                      \
    X(NET, __recvfrom_chk(-1, bytes, 1, sizeof bytes, 0, NULL, NULL))                                                  \
    X(NET, recvmsg(-1, NULL, 0))                                                                                       \
    X(NET, recvmmsg(-1, NULL, 1, 0, NULL))                                                                             \
    X(READ, mq_receive(-1, bytes, 1, NULL))                                                                            \
    X(READ, mq_timedreceive(-1, bytes, 1, NULL, &past))                                                                \
    X(WRITE, mq_send(-1, bytes, 1, 0))                                                                                 \
    X(WRITE, mq_timedsend(-1, bytes, 1, 0, &past))                                                                     \
    X(SLEEP, nanosleep(&none, NULL))                                                                                   \
    X(SLEEP, clock_nanosleep(CLOCK_MONOTONIC, 0, &none, NULL))                                                         \
    X(SLEEP, usleep(1))                                                                                                \
    X(CHILD, wait(NULL))                                                                                               \
    X(CHILD, waitpid(-1, NULL, 0))                                                                                     \
    X(CHILD, wait4(-1, NULL, 0, NULL))                                                                                 \
    X(CHILD, waitid(P_ALL, 0, NULL, WEXITED))                                                                          \
    X(NO_KIND, sem_wait(&(sem_t){0}))                                                                                  \
    X(SEM, sem_timedwait(&(sem_t){0}, &past))                                                                          \
    X(SEM, sem_clockwait(&(sem_t){0}, CLOCK_MONOTONIC, &past))                                                         \
    X(SLEEP, sigwaitinfo(&(sigset_t){0}, NULL))                                                                        \
    X(SLEEP, sigtimedwait(&(sigset_t){0}, NULL, &none))                                                                \
    X(SLEEP, sigsuspend(&(sigset_t){0}))

#define CASE_OF_POINT(kind, call)                                                                                      \
    case __COUNTER__ - FIRST_POINT:                                                                                    \
        (void)!(call);                                                                                                 \
        break;
#define ENTRY_OF_POINT(kind, call) {kind, #call},

static const struct {
    enum kind kind;
    const char *call;
} points[] = {CANCELLATION_POINTS(ENTRY_OF_POINT)};

enum { FIRST_POINT = __COUNTER__ + 1, POINTS = sizeof points / sizeof *points };

/* Makes a call while a request to cancel the thread is pending. */
static void *call_cancelled(void *number)
{
    pthread_cancel(pthread_self());
    switch ((int)(intptr_t)number) {
        CANCELLATION_POINTS(CASE_OF_POINT)
    }
    return NULL;
}

/* The thread ends in the call, and the capture counts the call. */
static void be_cancelled(const char *folder)
{
    snprintf(quiet_path, sizeof quiet_path, "%s/quiet", folder);
    quiet_file = open(quiet_path, O_RDWR | O_CREAT, 0600);
    count_of[OPEN]++;
    if (quiet_file < 0 || pipe(quiet))
        abort();
    for (int i = 0; i < POINTS; i++) {
        pthread_t thread;
        void *end = NULL;
        if (pthread_create(&thread, NULL, call_cancelled, (void *)(intptr_t)i))
            abort();
        pthread_join(thread, &end);
        note(points[i].kind, points[i].call, end == PTHREAD_CANCELED, 0);
    }
    close(quiet_file);
    close(quiet[0]);
    close(quiet[1]);
    count_of[CLOSE] += 3;
}

/* Calls each function. The folder is for files of its own. */
static void use_all(const char *folder)
{
    calls = 0;
    memset(count_of, 0, sizeof count_of);
    use_files(folder);
    use_sockets(folder);
    use_queues();
    use_polls();
    use_locks();
    use_waits();
    use_memory();
    use_signals();
    be_cancelled(folder);
}

#endif

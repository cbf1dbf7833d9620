/* Waits with known wakers. Each thread has a name, and the main thread prints the expected wakers. Every wait lasts
 * some 20 ms, so that its waker is certain. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, beside = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
static sem_t semaphore, go;
static int said;

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

static void *owner(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "owner");
    pthread_mutex_lock(&mutex);
    sem_post(&go);
    pause_ms(20);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *reader(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "reader");
    pthread_rwlock_rdlock(&rwlock);
    sem_post(&go);
    pause_ms(20);
    pthread_rwlock_unlock(&rwlock);
    return NULL;
}

static void *notifier(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "notifier");
    pause_ms(20);
    pthread_mutex_lock(&beside);
    said = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&beside);
    return NULL;
}

static void *poster(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "poster");
    pause_ms(20);
    sem_post(&semaphore);
    return NULL;
}

static void *ender(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "ender");
    pause_ms(40);
    return NULL;
}

/* ---- descriptors ---- */

static int counter, channel[2], pair[2], stale;

static void *counting(void *unused)
{
    (void)unused;
    uint64_t one = 1;
    pthread_setname_np(pthread_self(), "counting");
    pause_ms(20);
    return write(counter, &one, sizeof one) < 0 ? unused : NULL;
}

static void *writer(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "writer");
    pause_ms(20);
    return write(channel[1], "x", 1) < 0 ? unused : NULL;
}

static void *sender(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "sender");
    pause_ms(20);
    return send(pair[1], "x", 1, 0) < 0 ? unused : NULL;
}

static void *stranger(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "stranger");
    pause_ms(20);
    return write(stale, "x", 1) < 0 ? unused : NULL;
}

static void wait_in_poll(void)
{
    pthread_t t;
    counter = eventfd(0, EFD_NONBLOCK);
    struct pollfd p[2] = {{.fd = -1}, {.fd = counter, .events = POLLIN}};
    pthread_create(&t, NULL, counting, NULL);
    poll(p, 2, -1);
    pthread_join(t, NULL);
}

/* A descriptor that a child by vfork closes stays open in this process, although the child runs in its memory. */
static void close_in_a_child(const int ends[2])
{
    pid_t child = vfork();
    if (child == 0) {
        close(ends[0]);
        close(ends[1]);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void wait_in_read(void)
{
    pthread_t t;
    char byte;
    if (pipe(channel) != 0)
        return;
    close_in_a_child(channel);
    pthread_create(&t, NULL, writer, NULL);
    while (read(channel[0], &byte, 1) < 0)
        continue;
    pthread_join(t, NULL);
}

static void wait_in_epoll(void)
{
    pthread_t t;
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 7};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || epoll_ctl(set, EPOLL_CTL_ADD, pair[0], &event) != 0)
        return;
    pthread_create(&t, NULL, sender, NULL);
    epoll_wait(set, &event, 1, -1);
    pthread_join(t, NULL);
}

/* Waits for a byte that another process writes. The pipe's other end was closed by a call that is not hooked. Its
 * number now belongs to another file, to which a thread writes meanwhile. */
static void wait_for_a_process(void)
{
    pthread_t t;
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        pause_ms(60);
        _exit(write(ends[1], "x", 1) < 0);
    }
    fclose(fdopen(ends[1], "w"));
    stale = open("/dev/null", O_WRONLY);
    if (stale != ends[1])
        printf("descriptor %d, expected %d\n", stale, ends[1]);
    pthread_create(&t, NULL, stranger, NULL);
    while (read(ends[0], &byte, 1) < 0)
        continue;
    pthread_join(t, NULL);
    waitpid(child, NULL, 0);
}

int main(void)
{
    pthread_t t;
    sem_init(&semaphore, 0, 0);
    sem_init(&go, 0, 0);

    pthread_create(&t, NULL, owner, NULL);
    sem_wait(&go);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_join(t, NULL);

    pthread_create(&t, NULL, reader, NULL);
    sem_wait(&go);
    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    pthread_join(t, NULL);

    pthread_create(&t, NULL, notifier, NULL);
    pthread_mutex_lock(&beside);
    while (!said)
        pthread_cond_wait(&cond, &beside);
    pthread_mutex_unlock(&beside);
    pthread_join(t, NULL);

    pthread_create(&t, NULL, poster, NULL);
    while (sem_wait(&semaphore) != 0)
        ;
    pthread_join(t, NULL);

    pthread_create(&t, NULL, ender, NULL);
    pthread_join(t, NULL);

    wait_in_poll();
    wait_in_read();
    wait_in_epoll();
    wait_for_a_process();

    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&never, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    return 0;
}

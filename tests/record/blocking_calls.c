/* Threads in every kind of blocking call while others spin: none may return early, or with an error that it would
 * not have had alone. Prints the number of odd returns of each call. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 40, CALLS = 10 };
static const char *const names[CALLS] = {
    "poll",          "select",         "epoll_wait", "nanosleep", "clock_nanosleep",
    "sem_timedwait", "cond_timedwait", "read",       "recv",      "usleep"};
static atomic_int odd[CALLS], done;
static int fed_pipe[2], fed_socket[2], silent_pipe[2];

static struct timespec later(long ms)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += ms * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    return t;
}

static int call(int which)
{
    struct timespec ms = {0, 2000000}, until = later(2);
    struct timeval tv = {0, 2000};
    struct pollfd p = {silent_pipe[0], POLLIN, 0};
    struct epoll_event event;
    char byte;
    errno = 0;
    switch (which) {
    case 0: return poll(&p, 1, 2) != 0;
    case 1: return select(0, NULL, NULL, NULL, &tv) != 0;
    case 2: {
        int fd = epoll_create1(0), r = epoll_wait(fd, &event, 1, 2) != 0;
        close(fd);
        return r;
    }
    case 3: return nanosleep(&ms, NULL) != 0;
    case 4: return clock_nanosleep(CLOCK_MONOTONIC, 0, &ms, NULL) != 0;
    case 5: {
        sem_t s;
        sem_init(&s, 0, 0);
        return !(sem_timedwait(&s, &until) == -1 && errno == ETIMEDOUT);
    }
    case 6: {
        pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        pthread_cond_t c = PTHREAD_COND_INITIALIZER;
        pthread_mutex_lock(&m);
        int r = pthread_cond_timedwait(&c, &m, &until);
        pthread_mutex_unlock(&m);
        return r != ETIMEDOUT && r != 0;
    }
    case 7: return read(fed_pipe[0], &byte, 1) != 1;
    case 8: return recv(fed_socket[0], &byte, 1, 0) != 1;
    default: return usleep(2000) != 0;
    }
}

static void *block(void *which)
{
    for (int i = 0; i < ROUNDS; i++) {
        volatile long sum = 0;
        for (int k = 0; k < 200000; k++) /* is seen as active before it blocks: the critical case */
            sum += k;
        odd[(long)which] += call((int)(long)which);
    }
    done++;
    return NULL;
}

static void *spin(void *unused)
{
    volatile long sum = 0;
    (void)unused;
    while (done < CALLS)
        sum++;
    return NULL;
}

int main(void)
{
    pthread_t t[CALLS], spinner;
    if (pipe(fed_pipe) || pipe(silent_pipe) || socketpair(AF_UNIX, SOCK_STREAM, 0, fed_socket))
        return 1;
    for (long i = 0; i < CALLS; i++)
        pthread_create(&t[i], NULL, block, (void *)i);
    pthread_create(&spinner, NULL, spin, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        usleep(3000);
        if (write(fed_pipe[1], "x", 1) != 1 || send(fed_socket[1], "x", 1, 0) != 1)
            return 1;
    }
    for (int i = 0; i < CALLS; i++)
        pthread_join(t[i], NULL);
    pthread_join(spinner, NULL);
    for (int i = 0; i < CALLS; i++)
        printf("%s: %d\n", names[i], (int)odd[i]);
    return 0;
}

/* Threads that are cancelled in the way named on the command line, in rounds. Prints what their handlers saw. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 20 };

static int handled, ended;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t closed;
static int pipe_ends[2];

static void on_cancel(void *unused)
{
    (void)unused;
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void unlock(void *unused)
{
    (void)unused;
    pthread_mutex_unlock(&lock);
}

/* Is cancelled at any instruction, also at one of the C library or of a tracer. */
static void *sleep_asynchronously(void *unused)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        usleep(20);
    return unused;
}

static void *compute_asynchronously(void *unused)
{
    volatile unsigned long sum = 0;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        sum = sum + (unsigned long)now.tv_nsec;
    }
    return unused;
}

/* Waits in a cancellation point, each thread in another one. */
static void *wait_in_point(void *p)
{
    char byte;
    struct pollfd fd = {.fd = pipe_ends[0], .events = POLLIN};
    pthread_cleanup_push(on_cancel, NULL);
    switch ((long)p) {
    case 0: (void)!read(pipe_ends[0], &byte, 1); break;
    case 1: poll(&fd, 1, -1); break;
    case 2: sem_wait(&closed); break;
    case 3:
        pthread_mutex_lock(&lock);
        pthread_cleanup_push(unlock, NULL);
        for (;;)
            pthread_cond_wait(&never, &lock);
        pthread_cleanup_pop(0);
        break;
    case 4: sleep(1000); break;
    case 5: pause(); break;
    case 6:
        for (;;)
            close(open("/dev/null", O_RDONLY));
        break;
    default:
        for (;;)
            usleep(50);
    }
    pthread_cleanup_pop(0);
    return p;
}

/* Outside of cancellation points, a thread with the default type is not cancelled. */
static void *finish_deferred(void *unused)
{
    struct timespec now;
    (void)unused;
    pthread_cleanup_push(on_cancel, NULL);
    for (int i = 0; i < 20000; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        free(malloc(10));
    }
    __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
    pthread_cleanup_pop(0);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    void *(*routine)(void *) = !strcmp(way, "asleep_asynchronously")      ? sleep_asynchronously
                               : !strcmp(way, "computing_asynchronously") ? compute_asynchronously
                               : !strcmp(way, "in_cancellation_points")   ? wait_in_point
                               : !strcmp(way, "outside_of_points")        ? finish_deferred
                                                                          : NULL;
    int cancelled = 0;
    if (!routine || pipe(pipe_ends) != 0 || sem_init(&closed, 0, 0) != 0)
        return 2;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread[THREADS];
        for (long i = 0; i < THREADS; i++)
            pthread_create(&thread[i], NULL, routine, (void *)i);
        usleep((useconds_t)(round * 100));
        for (int i = 0; i < THREADS; i++)
            pthread_cancel(thread[i]);
        for (int i = 0; i < THREADS; i++) {
            void *result;
            pthread_join(thread[i], &result);
            cancelled += result == PTHREAD_CANCELED;
        }
    }
    if (routine != finish_deferred)
        printf("cancelled %d\n", cancelled);
    if (routine == finish_deferred)
        printf("ended %d\n", ended);
    return 31;
}

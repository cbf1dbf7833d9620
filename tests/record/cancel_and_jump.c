/* Blocking calls that end without a return: by cancellation, by siglongjmp, by pthread_exit in a cleanup handler.
 * Also errno, which successful calls must not change. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static int quiet_pipe[2];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t s;
static int cleaned;

static void note(void *unused)
{
    (void)unused;
    cleaned++;
}

static void unlock(void *lock)
{
    cleaned++;
    pthread_mutex_unlock(lock);
}

static void *wait_for_ever(void *which)
{
    char byte;
    struct pollfd p = {quiet_pipe[0], POLLIN, 0};
    pthread_cleanup_push(note, NULL);
    switch ((long)which) {
    case 0: (void)!read(quiet_pipe[0], &byte, 1); break;
    case 1: poll(&p, 1, -1); break;
    case 2: sem_wait(&s); break;
    case 3: sleep(1000); break;
    case 4:
        pthread_mutex_lock(&m);
        pthread_cleanup_push(unlock, &m);
        pthread_cond_wait(&c, &m);
        pthread_cleanup_pop(1);
        break;
    default: pthread_exit((void *)42);
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static sigjmp_buf back;

static void jump(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static int errno_survives(void)
{
    int ok = 1;
    for (int i = 0; i < 200000; i++) {
        errno = 77;
        void *p = malloc((size_t)(i % 1000 + 1));
        if (p)
            p = realloc(p, (size_t)(i % 3000 + 1));
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
        free(p);
        ok &= errno == 77;
    }
    return ok;
}

int main(void)
{
    if (pipe(quiet_pipe))
        return 1;
    sem_init(&s, 0, 0);
    for (long i = 0; i < 6; i++) {
        pthread_t t;
        void *result = NULL;
        pthread_create(&t, NULL, wait_for_ever, (void *)i);
        usleep(20000);
        if (i < 5)
            pthread_cancel(t);
        pthread_join(t, &result);
        printf("%ld: %s\n", i, result == PTHREAD_CANCELED ? "cancelled" : result == (void *)42 ? "exited" : "odd");
    }
    printf("cleaned: %d, mutex %s\n", cleaned, pthread_mutex_trylock(&m) == 0 ? "free" : "held");
    pthread_mutex_unlock(&m);

    volatile int jumps = 0;
    signal(SIGALRM, jump);
    struct itimerval soon = {{0, 0}, {0, 2000}};
    while (jumps < 100) {
        if (sigsetjmp(back, 1) == 0) {
            char byte;
            setitimer(ITIMER_REAL, &soon, NULL);
            (void)!read(quiet_pipe[0], &byte, 1);
            puts("read returned");
        }
        jumps++;
    }
    printf("jumps: %d\n", jumps);
    printf("errno: %s\n", errno_survives() ? "kept" : "lost");
    return 0;
}

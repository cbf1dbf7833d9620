/* Two threads that hand a turn to each other, each by the post of a semaphore that the other one waits for. Each post
 * wakes a thread, which is work of the kernel. Ends after two seconds. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

static sem_t turn[2];
static volatile int done;

__attribute__((noinline)) static void hand_over(int to)
{
    sem_post(&turn[to]);
}

static void *take_turns(void *unused)
{
    (void)unused;
    while (!done) {
        sem_wait(&turn[1]);
        hand_over(0);
    }
    return NULL;
}

int main(void)
{
    pthread_t other;
    struct timespec begin, now;
    sem_init(&turn[0], 0, 0);
    sem_init(&turn[1], 0, 0);
    pthread_create(&other, NULL, take_turns, NULL);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        hand_over(1);
        sem_wait(&turn[0]);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec < 2);
    done = 1;
    hand_over(1);
    pthread_join(other, NULL);
    puts("handed over");
    return 0;
}

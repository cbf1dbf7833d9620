/* 2,000 threads that live at the same time and compute by turns:  many_threads ROUNDS */
#include "tests/programs/src/work.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2000 };

static pthread_barrier_t all_there;
static uint64_t rounds, results[THREADS];

static DEFINE_WORK(mix_colours, 0xbf58476d1ce4e5b9u) static DEFINE_WORK(trace_rays, 0x94d049bb133111ebu)

    static void *work(void *argument)
{
    uint64_t number = (uint64_t)(uintptr_t)argument;
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < 10; i++) {
        results[number] += mix_colours(rounds, number);
        results[number] += trace_rays(rounds / 2, number);
    }
    pthread_barrier_wait(&all_there);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    pthread_attr_t attributes;
    rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    pthread_barrier_init(&all_there, NULL, THREADS + 1);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 << 10);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], &attributes, work, (void *)i))
            return 1;
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&all_there);
    uint64_t sum = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += results[i];
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

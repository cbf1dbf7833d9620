/* Four threads that allocate and free blocks of all sizes, some for each other:  allocate ROUNDS */
#include "tests/programs/src/work.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, SHARED = 64 };

static uint64_t rounds, results[THREADS];
static void *shared[SHARED];

static DEFINE_WORK(mix_numbers, 0xbf58476d1ce4e5b9u)

    static HOT uint64_t build_lists(uint64_t seed)
{
    void *blocks[32];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 32; i++) {
        size_t size = 16 + (i * seed * 2654435761u >> 7) % 5000;
        blocks[i] = malloc(size);
        memset(blocks[i], (int)i, size);
        sum += size;
    }
    for (int i = 0; i < 32; i += 2)
        blocks[i] = realloc(blocks[i], 3000);
    free(__atomic_exchange_n(&shared[seed % SHARED], blocks[0], __ATOMIC_ACQ_REL));
    for (int i = 1; i < 32; i++)
        free(blocks[i]);
    return sum;
}

static void *work(void *argument)
{
    uint64_t number = (uint64_t)(uintptr_t)argument;
    for (uint64_t i = 0; i < rounds; i++)
        results[number] += build_lists(i * THREADS + number) + mix_numbers(2000, i);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        printf("%llu\n", (unsigned long long)results[i]);
    }
    for (int i = 0; i < SHARED; i++)
        free(shared[i]);
    return 0;
}

/* More busy threads than processors, each of which runs a leaf below a caller:  compute_threads ROUNDS */
#include "tests/programs/src/work.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t rounds;

static DEFINE_WORK(heavy, 0xbf58476d1ce4e5b9u) static DEFINE_WORK(light, 0x94d049bb133111ebu)

    static HOT uint64_t call_both(uint64_t seed)
{
    return heavy(20000, seed) + light(5000, seed);
}

static void *work(void *result)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < rounds; i++)
        sum += call_both(i);
    *(uint64_t *)result = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[8];
    uint64_t results[8];
    rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, work, &results[i]);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        printf("%llu\n", (unsigned long long)results[i]);
    }
    return 0;
}

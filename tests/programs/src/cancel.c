/* Eight threads at a time are cancelled where they sleep, wait or compute:  cancel deferred|async ROUNDS */
#include "tests/programs/src/work.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8 };

static int type;

static DEFINE_WORK(mix_numbers, 0xbf58476d1ce4e5b9u)

    static void *sleep_until_cancelled(void *result)
{
    pthread_setcanceltype(type, NULL);
    for (uint64_t i = 0;; i++) {
        *(volatile uint64_t *)result = mix_numbers(5000, i);
        usleep(20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 9;
    type = strcmp(argv[1], "async") ? PTHREAD_CANCEL_DEFERRED : PTHREAD_CANCEL_ASYNCHRONOUS;
    long rounds = strtol(argv[2], NULL, 10), cancelled = 0;
    for (long round = 0; round < rounds; round++) {
        pthread_t threads[THREADS];
        uint64_t results[THREADS];
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, sleep_until_cancelled, &results[i]))
                return 1;
        usleep((useconds_t)(round % 10 * 50));
        for (int i = 0; i < THREADS; i++)
            pthread_cancel(threads[i]);
        for (int i = 0; i < THREADS; i++) {
            void *how;
            pthread_join(threads[i], &how);
            cancelled += how == PTHREAD_CANCELED;
        }
    }
    printf("%ld cancelled\n", cancelled);
    return 0;
}

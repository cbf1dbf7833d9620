/* Threads that are cancelled at any instruction, many of them inside a hook. Prints "done" when all have been
 * joined. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 100, THREADS = 8 };

static void *sleep_for_ever(void *unused)
{
    (void)unused;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        usleep(50);
    return NULL;
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread[THREADS];
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&thread[i], NULL, sleep_for_ever, NULL))
                return 1;
        usleep((useconds_t)(500 + round * 7));
        for (int i = 0; i < THREADS; i++)
            pthread_cancel(thread[i]);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
    }
    puts("done");
    return 0;
}

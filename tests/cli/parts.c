/* A program for reports of parts: two threads, `main` and `second`, call allocates() from one_way() and other_way(),
 * and in between computes(), which allocates nothing. Prints the bytes that allocates() requested. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

enum { ROUNDS = 40, PIECES = 20000, PIECE_BYTES = 64 };

static volatile double sink;

__attribute__((noinline)) static void computes(void)
{
    for (int i = 1; i < 600000; i++)
        sink += 1.0 / i;
}

__attribute__((noinline)) static void allocates(void)
{
    void *pieces[PIECES];
    for (int i = 0; i < PIECES; i++)
        pieces[i] = malloc(PIECE_BYTES);
    for (int i = 0; i < PIECES; i++)
        free(pieces[i]);
    sink += 1;
}

__attribute__((noinline)) static void one_way(void)
{
    allocates();
    allocates();
    sink += 1;
}

__attribute__((noinline)) static void other_way(void)
{
    allocates();
    sink += 1;
}

static void work(void)
{
    struct timespec pause = {0, 1000000};
    for (int i = 0; i < ROUNDS; i++) {
        one_way();
        computes();
        other_way();
        nanosleep(&pause, NULL);
    }
}

static void *begin_second(void *unused)
{
    prctl(PR_SET_NAME, "second");
    work();
    return unused;
}

int main(void)
{
    pthread_t second;
    pthread_create(&second, NULL, begin_second, NULL);
    work();
    pthread_join(second, NULL);
    printf("%lld\n", 2LL * ROUNDS * 3 * PIECES * PIECE_BYTES);
    return 0;
}

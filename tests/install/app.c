/* A program to record: most of its time is in hot_function, in two threads. */
#include <pthread.h>

__attribute__((noinline)) static unsigned hot_function(unsigned n)
{
    unsigned h = n;
    for (unsigned i = 0; i < 50000000; i++)
        h = h * 31 + (h >> 7) + i;
    return h;
}

static void *worker(void *result)
{
    *(unsigned *)result = hot_function(7);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    unsigned a = 0;
    pthread_create(&thread, NULL, worker, &a);
    pthread_setname_np(thread, "worker");
    unsigned b = hot_function(9);
    pthread_join(thread, NULL);
    return a == b;
}

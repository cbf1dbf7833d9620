/* Allocates, frees and reads the clock all the time, in two threads, so that hooks are entered as often as possible. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__attribute__((noinline)) static size_t copy_texts(int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        char *text = strdup("a text that is copied");
        bytes += strlen(text);
        free(text);
    }
    return bytes;
}

static void *work(void *unused)
{
    size_t bytes = 0;
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        bytes += copy_texts(1000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 300);
    (void)unused;
    return bytes ? NULL : (void *)1;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    return 0;
}

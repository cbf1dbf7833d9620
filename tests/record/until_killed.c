/* Allocates, locks, writes and starts threads without end, to be killed at any time. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *brief(void *unused)
{
    void *p = malloc(64);
    free(p);
    return unused;
}

static __attribute__((noinline)) void nest(int depth, int fd)
{
    char *p = malloc((size_t)(16 + depth * 8));
    memset(p, depth, 16);
    if (depth > 0) {
        nest(depth - 1, fd);
    } else if (write(fd, p, 16) != 16) {
        abort();
    }
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    free(p);
}

static void *work(void *unused)
{
    int fd = open("/dev/null", O_WRONLY);
    for (unsigned i = 0; unused == NULL; i++) {
        nest((int)(i % 40), fd);
        if (i % 64 == 0) {
            pthread_t t;
            if (pthread_create(&t, NULL, brief, NULL) == 0)
                pthread_join(t, NULL);
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t t;
    if (write(1, "running\n", 8) != 8)
        return 1;
    pthread_create(&t, NULL, work, NULL);
    work(NULL);
    return 0;
}

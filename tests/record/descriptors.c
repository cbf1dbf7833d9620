/* The descriptors of a program: prints those below 128 that are open at its start, that of a file which is then opened,
 * and that of another file after 100 ms of work in which samples are taken.
 *
 *   descriptors [close]      close: first closes all but the standard streams */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LOW = 128 };

static void list_open(const char *when)
{
    printf("%s:", when);
    for (int fd = 3; fd < LOW; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf(" %d", fd);
    putchar('\n');
}

/* Computes for a while, and makes calls that the engine hooks. */
__attribute__((noinline)) static double work(void)
{
    struct timespec pause = {0, 200000};
    double sum = 0;
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 100000; k++)
            sum += (double)k / (i + 1);
        char *text = strdup("a text");
        sum += text[0];
        free(text);
        nanosleep(&pause, NULL);
    }
    return sum;
}

int main(int count, char **arguments)
{
    list_open("at the start");
    if (count > 1 && !strcmp(arguments[1], "close"))
        syscall(SYS_close_range, 3, ~0u, 0);
    printf("first: %d\n", open("/dev/null", O_RDONLY));
    if (work() == 0)
        return 1;
    printf("second: %d\n", open("/dev/null", O_RDONLY));
    list_open("at the end");
    return 0;
}

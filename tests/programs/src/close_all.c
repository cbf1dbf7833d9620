/* Closes all descriptors but the first three, twice, as daemons do, and prints the numbers it gets afterwards:
 * close_all ROUNDS */
#include "tests/programs/src/work.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t rounds;

static DEFINE_WORK(mix_numbers, 0xbf58476d1ce4e5b9u)

    static void *work(void *result)
{
    for (uint64_t i = 0; i < rounds; i++) {
        *(uint64_t *)result += mix_numbers(10000, i);
        if (i % 100 == 0)
            usleep(100);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    uint64_t results[2] = {0, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, &results[0]))
        return 1;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = 3; fd < (int)limit.rlim_cur && fd < 65536; fd++)
        close(fd);
    int first = open("/dev/null", O_WRONLY), second = dup(first);
    work(&results[1]);
    syscall(SYS_close_range, 3, ~0u, 0);
    int third = open("/dev/null", O_WRONLY);
    work(&results[1]);
    pthread_join(thread, NULL);
    printf("%d %d %d %llu\n", first, second, third, (unsigned long long)(results[0] + results[1]));
    fclose(stdout);
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    return (int)(mix_numbers(1000000, rounds) % 2) + 10;
}

/* The main thread ends before its workers:  main_gone pthread_exit|sys_exit|all_sys_exit ROUNDS
 *
 *   pthread_exit   main calls pthread_exit, the last worker returns
 *   sys_exit       main makes a raw SYS_exit, the last worker calls exit
 *   all_sys_exit   all threads make a raw SYS_exit: the process ends with the last one, with its status */
#include "tests/programs/src/work.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *how;
static uint64_t rounds;
static int ended;

static DEFINE_WORK(mix_numbers, 0xbf58476d1ce4e5b9u)

    static void *work(void *number)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        sum += mix_numbers(10000, i + (uintptr_t)number);
        if (i % 64 == 0)
            usleep(50);
    }
    char line[64];
    int length = snprintf(line, sizeof line, "%llu\n", (unsigned long long)sum);
    if (__atomic_add_fetch(&ended, 1, __ATOMIC_ACQ_REL) == 4) {
        if (write(1, line, (size_t)length) != length)
            abort();
        if (!strcmp(how, "sys_exit"))
            exit(4);
    }
    if (!strcmp(how, "all_sys_exit"))
        syscall(SYS_exit, 3);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 9;
    how = argv[1];
    rounds = strtoull(argv[2], NULL, 10);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL))
            return 1;
    }
    if (!strcmp(how, "pthread_exit"))
        pthread_exit(NULL);
    syscall(SYS_exit, 2);
}

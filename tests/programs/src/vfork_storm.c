/* Children by vfork, posix_spawn and system, from three threads at a time:  vfork_storm CHILDREN */
#include "tests/programs/src/work.h"

#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long children;
static char *command[] = {"/bin/true", NULL};

static DEFINE_WORK(mix_numbers, 0xbf58476d1ce4e5b9u)

    static int wait_for_child(pid_t pid)
{
    int status = -1;
    return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static void *by_vfork(void *failures)
{
    for (long i = 0; i < children; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            execv(i % 4 ? "/bin/true" : "/no/such/program", command);
            _exit(7);
        }
        *(long *)failures += wait_for_child(pid) != (i % 4 ? 0 : 7 << 8);
        mix_numbers(10000, (uint64_t)i);
    }
    return NULL;
}

static void *by_posix_spawn(void *failures)
{
    for (long i = 0; i < children; i++) {
        pid_t pid = -1;
        if (posix_spawn(&pid, "/bin/true", NULL, NULL, command, environ))
            pid = -1;
        *(long *)failures += wait_for_child(pid) != 0;
    }
    return NULL;
}

static void *by_system(void *failures)
{
    for (long i = 0; i < children / 4; i++)
        *(long *)failures += system("exit 3") != 3 << 8;
    return NULL;
}

int main(int argc, char **argv)
{
    children = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
    void *(*const ways[])(void *) = {by_vfork, by_posix_spawn, by_system};
    pthread_t threads[3];
    long failures[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, ways[i], &failures[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("failed: %ld %ld %ld\n", failures[0], failures[1], failures[2]);
    return 0;
}

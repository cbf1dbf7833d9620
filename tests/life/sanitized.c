/* Threads that allocate, lock, read the clock and sleep. With the argument `error`, makes an error of the kind that
 * the program's sanitizer finds. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 2, STEPS = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total, unlocked;
static int wrong;

static void *work(void *unused)
{
    long sum = 0;
    for (int i = 0; i < STEPS; i++) {
        struct timespec now;
        char *text = malloc(10 + (size_t)(i % 1000));
        memset(text, i % 100, 10);
        sum += text[3];
        free(text);
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    usleep(1000);
    pthread_mutex_lock(&lock);
    total += sum;
    pthread_mutex_unlock(&lock);
    if (wrong)
        for (int i = 0; i < 1000; i++)
            unlocked++;
    return unused;
}

static void make_error(int count)
{
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
    char *text = malloc(8);
    free(text);
    printf("%d\n", text[count]);
#else
    int most = 0x7fffffff;
    printf("%d\n", most + count);
#endif
}

/* Returns true when the function belongs to a sanitizer's runtime library. */
static bool is_of_a_runtime(uintptr_t function)
{
    bool found = false;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && function >= begin && function < end)
            found |= strstr(line, "san.so") || strstr(line, "libclang_rt");
    }
    if (maps)
        fclose(maps);
    return found;
}

/* A runtime's handler of a real-time signal postpones the signal, and the engine's stop signal is such a signal. */
static void name_postponed_signals(void)
{
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        uintptr_t action[8] = {0};
        if (syscall(SYS_rt_sigaction, number, NULL, action, 8L) == 0 && action[0] > 1 && is_of_a_runtime(action[0]))
            printf("a runtime handles signal %d\n", number);
    }
}

int main(int argc, char **argv)
{
    wrong = argc > 1 && !strcmp(argv[1], "error");
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread[THREADS];
        for (int i = 0; i < THREADS; i++)
            pthread_create(&thread[i], NULL, work, NULL);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
    }
    name_postponed_signals();
    if (wrong)
        make_error(argc);
    printf("%ld\n", total);
    return 5;
}

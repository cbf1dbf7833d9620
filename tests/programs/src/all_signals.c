/* Takes every signal there is, with a handler for each, in threads that block all of them and threads that wait for
 * them:  all_signals ROUNDS */
#include "tests/programs/src/work.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t rounds;
static volatile sig_atomic_t seen[65];

static DEFINE_WORK(mix_numbers, 0xbf58476d1ce4e5b9u)

    static void count_signal(int signal)
{
    seen[signal]++;
}

static void *work_with_all_blocked(void *result)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (uint64_t i = 0; i < rounds; i++)
        *(uint64_t *)result += mix_numbers(10000, i);
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    uint64_t results[2] = {0, 0};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = count_signal;
    sigfillset(&action.sa_mask);
    int handled = 0;
    for (int signal = 1; signal <= SIGRTMAX; signal++)
        handled += sigaction(signal, &action, NULL) == 0;
    pthread_t thread;
    if (pthread_create(&thread, NULL, work_with_all_blocked, &results[0]))
        return 1;
    for (uint64_t i = 0; i < rounds; i++) {
        int signal = 1 + (int)(i % (uint64_t)SIGRTMAX);
        if (signal != SIGKILL && signal != SIGSTOP && (signal < 32 || signal >= SIGRTMIN))
            pthread_kill(pthread_self(), signal);
        results[1] += mix_numbers(10000, i);
    }
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_join(thread, NULL);
    raise(SIGUSR1);
    raise(SIGRTMAX);
    struct timespec none = {0, 0};
    int waited = 0;
    for (int signal; (signal = sigtimedwait(&all, NULL, &none)) > 0;)
        waited += signal;
    printf("%d handled, waited for %d, %llu\n", handled, waited, (unsigned long long)(results[0] + results[1]));
    for (int signal = 1; signal <= SIGRTMAX; signal++)
        printf("%d ", (int)seen[signal]);
    putchar('\n');
    return 0;
}

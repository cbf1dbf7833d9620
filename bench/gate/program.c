/* A program to record for the gate: a tree of calls that allocates, takes locks, reads, writes, polls, sends messages
 * through a pipe and starts threads. It does the same in each run.
 *
 *     gate-program [ROUNDS]
 *
 * At most one of its threads runs at a time, and time passes on the main thread only (clock.c), so that the order in
 * which threads begin does not matter. */
#include "bench/gate/clock.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_DEFAULT = 400, DEPTH = 9, BLOCK_BYTES = 128, THREAD_EVERY = 40, SLEEP_NS = 250000, CALL_NS = 20000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2], counter, worked;
static uint64_t sum;
static _Thread_local int keeps_time;

static void check(int good, const char *what)
{
    if (!good) {
        perror(what);
        exit(1);
    }
}

static void count_up(uint64_t by)
{
    pthread_mutex_lock(&lock);
    sum += by;
    pthread_mutex_unlock(&lock);
}

static __attribute__((noinline)) void grow(uint32_t depth, uint32_t seed)
{
    char *text = malloc(BLOCK_BYTES + seed % BLOCK_BYTES);
    check(text != NULL, "malloc");
    if (keeps_time)
        gate_pass_time(CALL_NS);
    memset(text, (int)seed, BLOCK_BYTES);
    if (depth)
        grow(depth - 1, seed * 31 + depth);
    if (depth % 3 == 1)
        grow(depth / 3, seed * 17 + depth);
    text = realloc(text, 2 * BLOCK_BYTES + depth);
    check(text != NULL, "realloc");
    count_up((unsigned char)text[depth]);
    free(text);
}

static __attribute__((noinline)) void exchange(void)
{
    char block[BLOCK_BYTES] = "";
    struct pollfd poller = {.fd = ends[0], .events = POLLIN};
    uint64_t one = 1;
    check(write(ends[1], block, sizeof block) == sizeof block, "write");
    check(poll(&poller, 1, 100) == 1, "poll");
    check(read(ends[0], block, sizeof block) == sizeof block, "read");
    check(write(counter, &one, sizeof one) == sizeof one, "write");
    check(read(counter, &one, sizeof one) == sizeof one, "read");
}

static __attribute__((noinline)) void rest(void)
{
    const struct timespec pause = {0, SLEEP_NS};
    nanosleep(&pause, NULL);
}

static void *work(void *round)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    prctl(PR_SET_NAME, "gate-worker");
    grow(DEPTH, (uint32_t)(uintptr_t)round);
    __atomic_store_n(&worked, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Does not join the thread: whether a join has to wait is chance. */
static void run_thread(uintptr_t round)
{
    pthread_t thread;
    __atomic_store_n(&worked, 0, __ATOMIC_RELAXED);
    check(pthread_create(&thread, NULL, work, (void *)round) == 0, "pthread_create");
    pthread_detach(thread);
    while (!__atomic_load_n(&worked, __ATOMIC_ACQUIRE))
        sched_yield();
}

int main(int argc, char **argv)
{
    uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : ROUNDS_DEFAULT;
    keeps_time = 1;
    counter = eventfd(0, 0);
    check(counter >= 0 && pipe(ends) == 0, "pipe");
    for (uint32_t i = 0; i < rounds; i++) {
        grow(DEPTH, i);
        exchange();
        if (i % 4 == 0)
            rest();
        if (i % THREAD_EVERY == 0)
            run_thread(i);
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

/* Programs whose scheduling is known, for tests/sched/run.sh, selected by the argument:
 *
 *   turns [TIMES]
 *     The first thread sleeps 5 ms, computes 5 ms and wakes a second thread, ten TIMES. The second thread computes 2 ms
 *     each time. Both use futex by syscall(2), which no hook sees. Prints JSON: of each thread its tid, the CPU and
 *     elapsed time of its work, and how often the other thread ended its wait.
 *   killed
 *     A child process keeps the first thread in vfork, an uninterruptible sleep, for 30 ms. Prints its tid.
 *   flood
 *     Stops its parent and switches between two threads on one processor 24000 times. A child process lets the parent
 *     go on when this process has ended, so that the losses come after the last record.
 *   compete
 *     Two threads compute 30 ms each on one processor, and never sleep meanwhile.
 *   renamed
 *     Ten child processes, one after another, change their name to `short-lived`, end the first thread's wait for a
 * pipe and end themselves at once. leaves The first thread ends at once. The second thread computes 30 ms and ends the
 * process. */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MS = 1000000, FLOOD = 12000 };

static uint32_t rounds = 10;

static _Atomic uint32_t word;
static _Thread_local uint32_t woken; /* waits of this thread that another thread has ended */

static uint64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void compute(uint64_t ns)
{
    uint64_t begin = now(CLOCK_THREAD_CPUTIME_ID);
    while (now(CLOCK_THREAD_CPUTIME_ID) - begin < ns)
        continue;
}

static void wait_until(uint32_t least)
{
    for (uint32_t seen; (seen = word) < least;)
        woken += syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0) == 0;
}

static void count_up(void)
{
    word++;
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

struct work {
    uint64_t cpu_ns, wall_ns;
    long tid;
    uint32_t woken;
};

static struct work begin_work(void)
{
    return (struct work){now(CLOCK_THREAD_CPUTIME_ID), now(CLOCK_MONOTONIC), syscall(SYS_gettid), 0};
}

static struct work end_work(struct work w)
{
    return (struct work){now(CLOCK_THREAD_CPUTIME_ID) - w.cpu_ns, now(CLOCK_MONOTONIC) - w.wall_ns, w.tid, woken};
}

static void print_work(const char *name, const struct work *w)
{
    printf("\"%s\": {\"tid\": %ld, \"cpu_ns\": %lu, \"wall_ns\": %lu, \"woken\": %u}", name, w->tid,
           (unsigned long)w->cpu_ns, (unsigned long)w->wall_ns, w->woken);
}

static void *take_turns(void *out)
{
    struct work w = begin_work();
    for (uint32_t i = 1; i <= rounds; i++) {
        wait_until(i);
        compute(2 * MS);
    }
    *(struct work *)out = end_work(w);
    return NULL;
}

static int turns(void)
{
    struct work mine, its;
    pthread_t other;
    pthread_create(&other, NULL, take_turns, &its);
    mine = begin_work();
    for (uint32_t i = 0; i < rounds; i++) {
        nanosleep(&(struct timespec){0, 5 * MS}, NULL);
        compute(5 * MS);
        count_up();
    }
    mine = end_work(mine);
    pthread_join(other, NULL);
    printf("{");
    print_work("first", &mine);
    printf(",\n ");
    print_work("second", &its);
    printf("}\n");
    return 0;
}

static int killed(void)
{
    if (vfork() == 0) {
        syscall(SYS_nanosleep, &(struct timespec){0, 30 * MS}, NULL);
        _exit(0);
    }
    printf("{\"tid\": %ld}\n", syscall(SYS_gettid));
    return 0;
}

static void *answer(void *none)
{
    for (uint32_t i = 0; i < FLOOD; i++) {
        wait_until(2 * i + 1);
        count_up();
    }
    return none;
}

static void stay_on_one_processor(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void *compute_long(void *none)
{
    compute(30 * MS);
    return none;
}

static int compete(void)
{
    pthread_t other;
    stay_on_one_processor();
    pthread_create(&other, NULL, compute_long, NULL);
    compute_long(NULL);
    pthread_join(other, NULL);
    return 0;
}

static int flood(void)
{
    pthread_t other;
    cpu_set_t one;
    int alive[2];
    pid_t recorder = getppid();
    if (pipe(alive) != 0)
        return 1;
    if (fork() == 0) {
        char none;
        close(alive[1]);
        while (read(alive[0], &none, 1) > 0)
            continue;
        kill(recorder, SIGCONT);
        _exit(0);
    }
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    kill(recorder, SIGSTOP);
    pthread_create(&other, NULL, answer, NULL);
    for (uint32_t i = 0; i < FLOOD; i++) {
        count_up();
        wait_until(2 * i + 2);
    }
    pthread_join(other, NULL);
    return 0;
}

static void *outlive(void *none)
{
    compute(30 * MS);
    _exit(0);
    return none;
}

static int leaves(void)
{
    pthread_t other;
    pthread_create(&other, NULL, outlive, NULL);
    pthread_exit(NULL);
}

static int renamed(void)
{
    int pipe_ends[2], status;
    char byte = 0;
    if (pipe(pipe_ends) != 0)
        return 1;
    for (uint32_t i = 0; i < rounds; i++) {
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_NAME, "short-lived");
            syscall(SYS_nanosleep, &(struct timespec){0, MS}, NULL);
            _exit(write(pipe_ends[1], &byte, 1) != 1);
        }
        if (read(pipe_ends[0], &byte, 1) != 1 || waitpid(child, &status, 0) != child || status != 0)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (argc > 2)
        rounds = (uint32_t)atoi(argv[2]);
    return !strcmp(mode, "turns")     ? turns()
           : !strcmp(mode, "killed")  ? killed()
           : !strcmp(mode, "flood")   ? flood()
           : !strcmp(mode, "compete") ? compete()
           : !strcmp(mode, "leaves")  ? leaves()
           : !strcmp(mode, "renamed") ? renamed()
                                      : 2;
}

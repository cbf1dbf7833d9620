/* Costs of the start and the end of a thread: in the thread that starts it, in the thread itself, and in the engine.
 *
 * All threads run on one processor, so that none is woken on another processor, which costs_wake.c measures. Stacks
 * are larger than those that the C library keeps for reuse, so each thread has a new stack, and touches new pages. */
#include "bench/bench.h"
#include "bench/costs/costs.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK_BYTES = 48 << 20, THREADS = 4 };

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* CPU time of a thread at the begin and at the end of its own code. */
struct own {
    uint64_t begin_ns, end_ns;
    pid_t tid;
};

/* Reads the clock by a system call, which the engine does not hook. */
static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec t;
    syscall(SYS_clock_gettime, clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *live(void *arg)
{
    struct own *own = arg;
    own->begin_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    own->tid = (pid_t)syscall(SYS_gettid);
    own->end_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

/* A joined thread may still be in its exit in the kernel. */
static void wait_until_gone(pid_t tid)
{
    while (syscall(SYS_tgkill, (long)getpid(), (long)tid, 0l) == 0)
        syscall(SYS_sched_yield);
}

static struct costs_start start_threads(create_fn *create)
{
    struct own own[THREADS];
    pthread_t threads[THREADS];
    pthread_attr_t attributes;
    uint64_t calling = 0, begins = 0, ends = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    uint64_t all = cpu_ns(CLOCK_PROCESS_CPUTIME_ID), caller = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < THREADS; i++) {
        uint64_t begin = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
        if (create(&threads[i], &attributes, live, &own[i]))
            abort();
        calling += cpu_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wait_until_gone(own[i].tid);
    }
    all = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - all;
    caller = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - caller;
    for (int i = 0; i < THREADS; i++) {
        begins += own[i].begin_ns;
        ends += own[i].end_ns;
    }
    pthread_attr_destroy(&attributes);
    return (struct costs_start){.call = (double)calling / THREADS,
                                .begin = (double)begins / THREADS,
                                .end = ((double)all - (double)caller - (double)ends) / THREADS};
}

static struct costs_start on_one_processor(create_fn *create)
{
    cpu_set_t before, first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    if (sched_getaffinity(0, sizeof before, &before) || sched_setaffinity(0, sizeof first, &first))
        abort();
    struct costs_start cost = start_threads(create);
    sched_setaffinity(0, sizeof before, &before);
    return cost;
}

void costs_start_round(struct sim_costs *out)
{
    struct costs_start cost = on_one_processor(pthread_create);
    out->start_call = cost.call;
    out->start_own = cost.begin;
    out->end_own = cost.end;
}

bool costs_start_recorded(struct costs_start *out)
{
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    create_fn *bare = NULL;
    if (libc)
        *(void **)&bare = dlsym(libc, "pthread_create");
    if (!bare || bare == pthread_create)
        return false;
    struct costs_start with = on_one_processor(pthread_create), without = on_one_processor(bare);
    *out = (struct costs_start){with.call - without.call, with.begin - without.begin, with.end - without.end};
    return true;
}

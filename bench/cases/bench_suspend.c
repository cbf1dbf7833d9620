/* Stops a running thread, reads its registers and resumes it: the engine's signal and hand-shake against ptrace. The
 * placement on processors decides the cost. Waking another processor is expensive, above all on a virtual machine.
 * So both threads are pinned, and each placement has a row. The result is the median of the wall times of the
 * cycles, so that a cycle that another program interrupts does not count. */
#include "bench/bench.h"
#include "bench/rig.h"

#include <elf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CYCLES = 400, WARM_CYCLES = 20, TIMEOUT_NS = 100000000 };

struct placement {
    int sampler_cpu, target_cpu;
};

static const struct placement same = {0, 0}, across = {0, 1};

static struct strobe_linux linux_host;

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        abort();
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *seconds)
{
    qsort(seconds, CYCLES, sizeof *seconds, by_value);
    return seconds[CYCLES / 2];
}

static void spin(strobe_a32 *stop)
{
    while (!strobe_load_relaxed(stop))
        strobe_fence_signal();
}

/* ---- Strobe: sampler and target are threads of this process ---- */

struct job {
    const struct placement *placement;
    strobe_a32 target, stop;
    double median_s;
};

static void *run_target(void *arg)
{
    struct job *job = arg;
    pin(job->placement->target_cpu);
    strobe_store_release(&job->target, (uint32_t)gettid());
    spin(&job->stop);
    return NULL;
}

/* Returns false when the thread did not stop in time, or is still leaving the last stop. */
static bool stop_and_go(struct job *job, strobe_a32 *blocked)
{
    const struct strobe_host *host = &linux_host.host;
    struct strobe_regs regs;
    uint32_t tid = strobe_load_relaxed(&job->target);
    enum strobe_status status = host->suspend(host->ctx, tid, blocked, TIMEOUT_NS, &regs);
    if (status == STROBE_OK)
        status = host->resume(host->ctx, tid);
    else if (status != STROBE_LATE && status != STROBE_UNSUPPORTED)
        abort();
    bench_keep(&regs);
    return status == STROBE_OK;
}

/* Runs in a separate thread, because the sampler's thread gives up its descriptors. */
static void *run_sampler(void *arg)
{
    static double seconds[CYCLES];
    struct job *job = arg;
    strobe_a32 blocked = 0;
    pin(job->placement->sampler_cpu);
    strobe_linux_sampler_begins();
    for (int i = 0; i < WARM_CYCLES; i++)
        stop_and_go(job, &blocked);
    for (int i = 0; i < CYCLES;) {
        uint64_t begin = bench_now_ns();
        bool stopped = stop_and_go(job, &blocked);
        seconds[i] = (double)(bench_now_ns() - begin) / 1e9;
        i += stopped;
    }
    job->median_s = median_of(seconds);
    strobe_store_release(&job->stop, 1);
    return NULL;
}

static void by_signal(struct gbench_state *s, const void *placement)
{
    while (gbench_loop(s)) {
        struct job job = {.placement = placement};
        pthread_t target, sampler;
        if (pthread_create(&target, NULL, run_target, &job))
            abort();
        while (!strobe_load_acquire(&job.target))
            usleep(100);
        if (pthread_create(&sampler, NULL, run_sampler, &job))
            abort();
        pthread_join(sampler, NULL);
        pthread_join(target, NULL);
        gbench_elapsed(s, job.median_s);
    }
}

/* ---- theirs: the target is a child ---- */

static void trace_cycle(pid_t child)
{
    struct user_regs_struct regs;
    struct iovec all = {&regs, sizeof regs};
    if (ptrace(PTRACE_INTERRUPT, child, 0, 0) || waitpid(child, NULL, __WALL) != child ||
        ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &all) || ptrace(PTRACE_CONT, child, 0, 0))
        abort();
    bench_keep(&regs);
}

static pid_t start_child(int cpu)
{
    static strobe_a32 never;
    pid_t child = fork();
    if (child == 0) {
        pin(cpu);
        spin(&never);
        _exit(0);
    }
    return child;
}

static void by_ptrace(struct gbench_state *s, const void *arg)
{
    const struct placement *placement = arg;
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
    pid_t child = start_child(placement->target_cpu);
    if (child < 0 || ptrace(PTRACE_SEIZE, child, 0, 0)) {
        gbench_give_up(s, "ptrace is not allowed here");
    } else {
        pin(placement->sampler_cpu);
        static double seconds[CYCLES];
        for (int i = 0; i < WARM_CYCLES; i++)
            trace_cycle(child);
        while (gbench_loop(s)) {
            for (int i = 0; i < CYCLES; i++) {
                uint64_t begin = bench_now_ns();
                trace_cycle(child);
                seconds[i] = (double)(bench_now_ns() - begin) / 1e9;
            }
            gbench_elapsed(s, median_of(seconds));
        }
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, __WALL);
    sched_setaffinity(0, sizeof before, &before);
}

static void add(const char *name, gbench_fn *run, const struct placement *placement)
{
    gbench_add(&(struct gbench_spec){.name = name, .run = run, .arg = placement, .turns = 1, .clock = GBENCH_MANUAL});
}

static bool have_two(void)
{
    return sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

void bench_suspend_add(void)
{
    strobe_linux_init(&linux_host, clock_gettime);
    if (strobe_linux_take_signal(&linux_host, 0, sigaction, NULL) != STROBE_OK)
        abort();
    add("suspend/same", by_signal, &same);
    add("suspend/same/ptrace", by_ptrace, &same);
    if (have_two()) {
        add("suspend/across", by_signal, &across);
        add("suspend/across/ptrace", by_ptrace, &across);
    }
}

void bench_suspend_rows(void)
{
    bench_row_ratio("suspend and resume, same processor", "us", gbench_median_ns("suspend/same") / 1e3,
                    "ptrace stop and go", gbench_median_ns("suspend/same/ptrace") / 1e3, 1.4);
    if (have_two())
        bench_row_ratio("suspend and resume, across processors", "us", gbench_median_ns("suspend/across") / 1e3,
                        "ptrace stop and go", gbench_median_ns("suspend/across/ptrace") / 1e3, 1.4);
    else
        bench_row_skipped("suspend and resume, across processors", "SKIPPED: one processor");
}

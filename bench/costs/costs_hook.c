/* Costs that are measured in a recorded process.
 *
 * A hook: a pair of malloc and free through the preloaded library against the same through the C library, in one
 * process and in turn. The gate is closed for an hour, so nearly all events are skipped by count.
 *
 * The sampler's pass: the CPU time of the engine's own sampler beside a thread that computes in user mode. That
 * thread's clock ticks, so the passes find nothing new. The sampler's code and data have left the caches when it
 * wakes. So a pass takes longer than the sum of its parts, and the longer the sampler has slept, the longer it
 * takes.
 *
 * A wait: sleeps through the preloaded library against the same through the C library, in turn, with some
 * computation between them. The engine works at the begin and the end of a wait, and its code and data leave the
 * caches in between.
 *
 * A thread's begin and end: threads that the hook starts against threads that the C library starts, in turn. */
#include "bench/bench.h"
#include "bench/child.h"
#include "bench/costs/costs.h"

#include "sim/player/work.h"
#include "tests/support/temporary.h"

#include <dirent.h>
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS = 5000, HOOKS = 2 * PAIRS };

typedef void *malloc_fn(size_t);
typedef void free_fn(void *);

static double pairs_ns(malloc_fn *take, free_fn *give)
{
    uint64_t begin = bench_cpu_ns();
    for (int i = 0; i < PAIRS; i++) {
        void *p = take(64);
        bench_keep(p);
        give(p);
    }
    return (double)(bench_cpu_ns() - begin);
}

static bool measure_hooks(double *figures)
{
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    malloc_fn *volatile hooked_malloc = malloc, *volatile real_malloc = NULL;
    free_fn *volatile hooked_free = free, *volatile real_free = NULL;
    if (!libc)
        return false;
    *(void *volatile *)&real_malloc = dlsym(libc, "malloc");
    *(void *volatile *)&real_free = dlsym(libc, "free");
    if (!real_malloc || !real_free || real_malloc == hooked_malloc)
        return false;
    for (int i = 0; i < COSTS_CHILD_ROUNDS; i++) {
        double hooked = pairs_ns(hooked_malloc, hooked_free), real = pairs_ns(real_malloc, real_free);
        figures[i] = (hooked - real) / HOOKS;
    }
    return true;
}

/* ---- the sampler */

/* Opens the kernel's account of the engine's sampler in this process. */
static FILE *open_sampler_account(void)
{
    static const char tasks[] = "/proc/self/task", name[] = "strobe-sampler";
    char path[PATH_MAX], comm[64];
    DIR *folder = opendir(tasks);
    FILE *account = NULL;
    for (struct dirent *e; folder && !account && (e = readdir(folder));) {
        snprintf(path, sizeof path, "%s/%s/comm", tasks, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f && fgets(comm, sizeof comm, f) && !strncmp(comm, name, strlen(name))) {
            snprintf(path, sizeof path, "%s/%s/schedstat", tasks, e->d_name);
            account = fopen(path, "r");
        }
        if (f)
            fclose(f);
    }
    if (folder)
        closedir(folder);
    return account;
}

/* CPU time, and how often the thread had a processor. */
static bool read_account(FILE *account, double *cpu_ns, double *turns)
{
    rewind(account);
    return fflush(account) == 0 && fscanf(account, "%lf %*s %lf", cpu_ns, turns) == 2;
}

/* Some work of the sampler is done only in some passes. So the cost of a pass is the mean over a window. Of the
 * windows, the median counts, because other work does not disturb it. */
static bool measure_passes(double *figures)
{
    enum { WINDOWS = 20, WINDOW_NS = 100000000 };
    uint64_t turns_per_ms = sim_work_calibrate(); /* meanwhile the sampler's thread has set its name */
    FILE *account = open_sampler_account();
    double cpu[2], turns[2];
    bool done = account != NULL;
    if (account)
        setvbuf(account, NULL, _IONBF, 0);
    sim_work_do(WINDOW_NS, turns_per_ms); /* by then passes have their largest distance */
    for (int i = 0; done && i < WINDOWS; i++) {
        done = read_account(account, &cpu[0], &turns[0]);
        sim_work_do(WINDOW_NS, turns_per_ms);
        done = done && read_account(account, &cpu[1], &turns[1]) && turns[1] > turns[0];
        figures[i] = done ? (cpu[1] - cpu[0]) / (turns[1] - turns[0]) : 0;
    }
    for (int i = WINDOWS; i < COSTS_CHILD_ROUNDS; i++)
        figures[i] = figures[i % WINDOWS];
    if (account)
        fclose(account);
    return done;
}

/* ---- waits */

typedef int sleep_fn(clockid_t, int, const struct timespec *, struct timespec *);

enum { WAITS = 10, PAUSE_NS = 100000 };

static double waits_ns(sleep_fn *sleeps, uint64_t span_ns, uint64_t turns_per_ms)
{
    struct timespec span = {0, (long)span_ns};
    double sum = 0;
    for (int i = 0; i < WAITS; i++) {
        sim_work_do(PAUSE_NS, turns_per_ms);
        uint64_t begin = bench_cpu_ns();
        sleeps(CLOCK_MONOTONIC, 0, &span, NULL);
        sum += (double)(bench_cpu_ns() - begin);
    }
    return sum / WAITS;
}

/* Makes fewer tries of long waits. */
static bool measure_waits(double *figures, int span)
{
    static const int span_tries[SIM_WAIT_SPANS] = {60, 60, 60, 24, 12};
    int tries = span_tries[span];
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    sleep_fn *volatile hooked = clock_nanosleep, *volatile bare = NULL;
    uint64_t turns_per_ms = sim_work_calibrate();
    if (libc)
        *(void *volatile *)&bare = dlsym(libc, "clock_nanosleep");
    if (!bare || bare == hooked)
        return false;
    prctl(PR_SET_TIMERSLACK, 1ul); /* otherwise short sleeps take longer */
    for (int i = 0; i < tries; i++) {
        double with = waits_ns(hooked, sim_wait_spans_ns[span], turns_per_ms);
        figures[i] = with - waits_ns(bare, sim_wait_spans_ns[span], turns_per_ms);
    }
    for (int i = tries; i < COSTS_CHILD_ROUNDS; i++)
        figures[i] = figures[i % tries];
    return true;
}

static bool measure_wait_0(double *figures)
{
    return measure_waits(figures, 0);
}
static bool measure_wait_1(double *figures)
{
    return measure_waits(figures, 1);
}
static bool measure_wait_2(double *figures)
{
    return measure_waits(figures, 2);
}
static bool measure_wait_3(double *figures)
{
    return measure_waits(figures, 3);
}
static bool measure_wait_4(double *figures)
{
    return measure_waits(figures, 4);
}

/* ---- threads */

/* The engine takes memory for the state of many threads at once, in the begin of one of them. So the cost of a
 * thread is the mean of all rounds. */
static bool measure_threads(double *figures, bool ends)
{
    struct costs_start cost;
    double sum = 0;
    for (int i = 0; i < COSTS_CHILD_ROUNDS; i++) {
        if (!costs_start_recorded(&cost))
            return false;
        sum += ends ? cost.end : cost.begin;
    }
    for (int i = 0; i < COSTS_CHILD_ROUNDS; i++)
        figures[i] = sum / COSTS_CHILD_ROUNDS;
    return true;
}

static bool measure_attach(double *figures)
{
    return measure_threads(figures, false);
}

static bool measure_detach(double *figures)
{
    return measure_threads(figures, true);
}

/* ---- the recorded process */

/* `async`: the sampler's interval. While the clocks of all threads tick, the sampler makes a pass in every fourth
 * interval, if four intervals are not longer than 4 ms. */
static const struct measure {
    const char *what;
    bool (*figures)(double *out);
    const char *interval, *async;
} measures[] = {
    {"hook", measure_hooks, "3600s", "0"},    {"pass", measure_passes, "1ms", "1ms"},
    {"soon", measure_passes, "1ms", "250us"}, {"wait 0", measure_wait_0, "1ms", "0"},
    {"wait 1", measure_wait_1, "1ms", "0"},   {"wait 2", measure_wait_2, "1ms", "0"},
    {"wait 3", measure_wait_3, "1ms", "0"},   {"wait 4", measure_wait_4, "1ms", "0"},
    {"attach", measure_attach, "3600s", "0"}, {"detach", measure_detach, "3600s", "0"},
};

static const struct measure *measure_of(const char *what)
{
    const struct measure *m = measures;
    while (strcmp(m->what, what) != 0)
        if (++m == measures + sizeof measures / sizeof *measures)
            abort();
    return m;
}

int costs_child(const char *what, const char *path)
{
    static double figures[COSTS_CHILD_ROUNDS];
    if (!measure_of(what)->figures(figures))
        return 2;
    FILE *f = fopen(path, "w");
    if (!f || fwrite(figures, sizeof figures, 1, f) != 1)
        return 2;
    return fclose(f) ? 2 : 0;
}

static bool run_child(const char *self, const char *what, const char *session, const char *path)
{
    const struct measure *m = measure_of(what);
    char whole[PATH_MAX], folder[PATH_MAX], strobe[PATH_MAX + 16];
    struct child child;
    if (!realpath(self, whole))
        return false;
    strcpy(folder, whole);
    snprintf(strobe, sizeof strobe, "%s/../strobe", dirname(folder));
    const char *const argv[] = {
        strobe,   "record", "--force", "--quiet", "--no-convert", "--interval", m->interval, "--async-interval",
        m->async, "-o",     session,   "--",      whole,          "-c",         path,        what,
        NULL};
    return child_run(argv, NULL, true, &child) && child.status == 0;
}

bool costs_child_measure(const char *self, const char *what, double figures[COSTS_CHILD_ROUNDS])
{
    char folder[TEMPORARY_BYTES], session[sizeof folder + 16], path[sizeof folder + 16];
    if (!mkdtemp(temporary_path(folder, "strobe-costs-XXXXXX")))
        return false;
    snprintf(session, sizeof session, "%s/session", folder);
    snprintf(path, sizeof path, "%s/figures", folder);
    bool done = run_child(self, what, session, path);
    FILE *f = done ? fopen(path, "r") : NULL;
    done = f && fread(figures, sizeof *figures, COSTS_CHILD_ROUNDS, f) == COSTS_CHILD_ROUNDS;
    if (f)
        fclose(f);
    unlink(session);
    unlink(path);
    rmdir(folder);
    return done;
}

/* Costs that take a recorded process.
 *
 * Of a hook in place: a pair of malloc and free through the preloaded library against the same through the C library,
 * in one process and in turn. The gate is shut for an hour, so nearly all events are skipped by count.
 *
 * Of the sampler's pass: the CPU time of the engine's own sampler beside a thread that computes. Its code and data have
 * left the caches when it wakes, so that a pass takes longer than the sum of what it does.
 *
 * Of a thread's begin and end: threads that the hook starts against threads that the C library starts, in turn. */
#include "bench/bench.h"
#include "bench/child.h"
#include "bench/costs.h"

#include <dirent.h>
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Long enough that a pass under way at a window's end does not count. */
static void compute_for_a_window(void)
{
    enum { WINDOW_NS = 10000000 };
    for (uint64_t begin = bench_cpu_ns(); bench_cpu_ns() - begin < WINDOW_NS;)
        continue;
}

static bool measure_passes(double *figures)
{
    compute_for_a_window();   /* the sampler has its name by then */
    FILE *account = open_sampler_account();
    double cpu[2], turns[2];
    bool done = account != NULL;
    if (account)
        setvbuf(account, NULL, _IONBF, 0);
    for (int i = 0; done && i < COSTS_CHILD_ROUNDS; i++) {
        done = read_account(account, &cpu[0], &turns[0]);
        do {
            compute_for_a_window();
            done = done && read_account(account, &cpu[1], &turns[1]);
        } while (done && turns[1] <= turns[0]);
        figures[i] = done ? (cpu[1] - cpu[0]) / (turns[1] - turns[0]) : 0;
    }
    if (account)
        fclose(account);
    return done;
}

/* ---- threads */

/* Memory comes in pieces that hold the state of many threads, so most threads take none and some take it for all: what
 * a thread costs is the mean of all rounds. */
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

static const struct measure { const char *what; bool (*figures)(double *out); bool samples; } measures[] = {
    {"hook", measure_hooks, false},
    {"pass", measure_passes, true},
    {"attach", measure_attach, false},
    {"detach", measure_detach, false},
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
    bool passes = measure_of(what)->samples;
    char whole[PATH_MAX], folder[PATH_MAX], strobe[PATH_MAX + 16];
    struct child child;
    if (!realpath(self, whole))
        return false;
    strcpy(folder, whole);
    snprintf(strobe, sizeof strobe, "%s/../strobe", dirname(folder));
    const char *const argv[] = {strobe, "record", "--force", "--quiet", "--no-convert", "--interval",
                                passes ? "1ms" : "3600s", "--async-interval", passes ? "1ms" : "0", "-o", session,
                                "--", whole, "-c", path, what, NULL};
    return child_run(argv, NULL, true, &child) && child.status == 0;
}

bool costs_child_measure(const char *self, const char *what, double figures[COSTS_CHILD_ROUNDS])
{
    char folder[] = "/tmp/strobe-costs-XXXXXX", session[sizeof folder + 16], path[sizeof folder + 16];
    if (!mkdtemp(folder))
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

/* A whole program under `strobe record` against the plain run: CPU time of all processes, including the recorder and
 * its creation of the session, without the conversion afterwards (--no-convert). Runs alternate. Each run is
 * compared with a plain run beside it, so that a slow period of the machine affects both. The result is the median
 * of those ratios. "Hooks alone" is without the sampler, whose cost is that of waking threads on other processors. */
#include "bench/bench.h"
#include "bench/child.h"
#include "tests/support/temporary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 7 };
#define THREADS "2"
#define STEPS   "6000"

static double plain_s, gated_s, hooks_s, every_s, gated_ratio, hooks_ratio, every_ratio;
static const char *failure;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof *v, by_value);
    return v[ROUNDS / 2];
}

static double run(const char *const *argv)
{
    struct child child;
    if (!child_run(argv, NULL, false, &child) || child.status) {
        failure = "SKIPPED: `strobe record` of the workload failed";
        return NAN;
    }
    return child.cpu_s;
}

void bench_whole_run(const char *folder)
{
    char strobe[512], workload[512], session[TEMPORARY_BYTES];
    double plain[ROUNDS], gated[ROUNDS], hooks[ROUNDS], every[ROUNDS];
    double gated_by[ROUNDS], hooks_by[ROUNDS], every_by[ROUNDS];
    snprintf(strobe, sizeof strobe, "%s/../strobe", folder);
    snprintf(workload, sizeof workload, "%s/workload", folder);
    if (access(strobe, X_OK) || access(workload, X_OK)) {
        failure = "SKIPPED: strobe or workload is not built";
        return;
    }
    int fd = mkstemp(temporary_path(session, "strobe-bench-session-XXXXXX"));
    if (fd < 0)
        abort();
    close(fd);
    const char *const as_is[] = {workload, THREADS, STEPS, NULL};
    const char *const at_1_ms[] = {strobe, "record", "--force", "--quiet", "--no-convert", "--interval", "1ms",
                                   "-o",   session,  "--",      workload,  THREADS,        STEPS,        NULL};
    const char *const alone[] = {
        strobe, "record", "--force", "--quiet", "--no-convert", "--interval", "1ms", "--async-interval",
        "0",    "-o",     session,   "--",      workload,       THREADS,      STEPS, NULL};
    const char *const at_all[] = {strobe, "record", "--force", "--quiet", "--no-convert", "--interval", "0",
                                  "-o",   session,  "--",      workload,  THREADS,        STEPS,        NULL};
    for (int i = 0; i < ROUNDS && !failure; i++) {
        plain[i] = run(as_is);
        gated[i] = run(at_1_ms);
        gated_by[i] = gated[i] / plain[i];
        hooks[i] = run(alone);
        hooks_by[i] = hooks[i] / plain[i];
        double again = run(as_is);
        every[i] = run(at_all);
        every_by[i] = every[i] / again;
    }
    unlink(session);
    if (failure)
        return;
    plain_s = median(plain);
    gated_s = median(gated);
    hooks_s = median(hooks);
    every_s = median(every);
    gated_ratio = median(gated_by);
    hooks_ratio = median(hooks_by);
    every_ratio = median(every_by);
}

static void row(const char *what, double measured, double ratio, double most)
{
    if (failure)
        bench_row_skipped(what, failure);
    else
        bench_row_paired(what, "CPU s", measured, "plain run", plain_s, ratio, most);
}

void bench_whole_rows(void)
{
    row("workload recorded, 1 ms gate", gated_s, gated_ratio, 1.10);
    row("  hooks alone", hooks_s, hooks_ratio, NAN);
    row("workload recorded, every event", every_s, every_ratio, 2.0);
}

/* uftrace: the cost of its `dump --chrome` per slice, on a recording of the workload built with -pg. */
#include "bench/bench.h"
#include "bench/child.h"
#include "bench/peers/peers.h"

#include <math.h>
#include <stdlib.h>

enum { REPETITIONS = 3 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns CPU ns per slice, or NAN. */
static double dump_chrome(const char *folder)
{
    const char *const dump[] = {"uftrace", "dump", "--chrome", "-d", folder, NULL};
    double ns[REPETITIONS];
    for (int i = 0; i < REPETITIONS; i++) {
        struct child child;
        if (!child_run(dump, "\"ph\":\"B\"", false, &child) || child.status || !child.hits)
            return NAN;
        ns[i] = child.cpu_s * 1e9 / (double)child.hits;
    }
    qsort(ns, REPETITIONS, sizeof *ns, by_value);
    return ns[REPETITIONS / 2];
}

void peer_uftrace_rows(void)
{
    static const char what[] = "a slice, from samples to trace";
    const char *workload = getenv("STROBE_PEER_UFTRACE_WORKLOAD"), *folder = getenv("STROBE_PEER_UFTRACE_FOLDER");
    struct child child;
    if (!workload || !folder) {
        bench_row_skipped(what, "SKIPPED: uftrace is not installed");
        return;
    }
    const char *const record[] = {"uftrace", "record", "-d", folder, workload, "2", "200", NULL};
    if (!child_run(record, NULL, true, &child) || child.status) {
        bench_row_skipped(what, "SKIPPED: uftrace record failed");
        return;
    }
    bench_row_ratio(what, "CPU ns", bench_encode_slice_ns(), "uftrace dump --chrome", dump_chrome(folder), 0.1);
}

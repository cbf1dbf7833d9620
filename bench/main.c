/* Runs the benches and prints one table of figures, each with the reference that is measured in the same run.
 *
 *     strobe-bench [-f REGEX] [-r REPETITIONS] [-t SECONDS] [-o JSON]
 *
 * REGEX selects benches by name. `whole` selects the whole programs; otherwise these run only without -f.
 *
 * The exit status is 0 even when a target is missed, because other load on the machine can be the cause. */
#include "bench/bench.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct part {
    void (*add)(void);
    void (*rows)(void);
} parts[] = {
    {bench_floor_add, bench_floor_rows},       {bench_gate_add, bench_gate_rows},
    {bench_ring_add, bench_ring_rows},         {bench_intern_add, bench_intern_rows},
    {bench_walk_add, bench_walk_rows},         {bench_sample_add, bench_sample_rows},
    {bench_suspend_add, bench_suspend_rows},   {bench_encode_add, bench_encode_rows},
    {bench_method_add, bench_method_rows},     {bench_watch_add, bench_watch_rows},
    {bench_atrace_add, bench_atrace_rows},     {bench_calls_add, bench_calls_rows},
    {bench_import_add, bench_import_rows},     {bench_fetch_add, bench_fetch_rows},
    {bench_annotate_add, bench_annotate_rows}, {bench_diff_add, bench_diff_rows},
};

enum { PART_COUNT = sizeof parts / sizeof *parts };

int main(int argc, char **argv)
{
    const char *filter = NULL, *json = "bench.json";
    int repetitions = 9, option;
    double seconds = 0.05;
    while ((option = getopt(argc, argv, "f:r:t:o:")) != -1)
        switch (option) {
        case 'f': filter = optarg; break;
        case 'r': repetitions = atoi(optarg); break;
        case 't': seconds = atof(optarg); break;
        case 'o': json = optarg; break;
        default: fprintf(stderr, "usage: strobe-bench [-f REGEX] [-r REPETITIONS] [-t SECONDS] [-o JSON]\n"); return 2;
        }
    char *program = strdup(argv[0]);
    const char *folder = dirname(program);
    bench_atrace_find(folder);
    for (int i = 0; i < PART_COUNT; i++)
        parts[i].add();
    gbench_run(filter, repetitions, seconds);
    for (int i = 0; i < PART_COUNT; i++)
        parts[i].rows();
    if (!filter || !strcmp(filter, "whole")) {
        bench_whole_run(folder);
        bench_whole_rows();
    }
    free(program);
    int missed = bench_table(json);
    if (missed > 0)
        printf("%d of the targets MISSED\n", missed);
    return missed < 0 ? 2 : 0;
}

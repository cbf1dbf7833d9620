/* Measures what the simulator charges (struct sim_costs) on this machine, with the engine as it is.
 *
 *     strobe-costs [-o JSON]
 *
 * Prints a table of medians and quartiles, and writes the medians as a cost table. */
#include "bench/costs.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 301 };

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

static const struct member { const char *name; size_t offset; const char *what; } members[] = {
#define MEMBER(name, what) {#name, offsetof(struct sim_costs, name), what}
    MEMBER(hook, "to a hook and back, event skipped"),
    MEMBER(clock, "clock read"),
    MEMBER(thread_clock, "thread's CPU clock"),
    MEMBER(usage, "getrusage"),
    MEMBER(scope, "scope not recorded, without clocks"),
    MEMBER(sample, "sample at a hook, without frames"),
    MEMBER(frame, "  a frame anew"),
    MEMBER(frame_known, "  a frame as before"),
    MEMBER(release, "release waited for, without sample"),
    MEMBER(look, "sampler looks at a thread, without clock"),
    MEMBER(suspend, "sampler stops a thread"),
    MEMBER(suspend_target, "  the thread's handler"),
    MEMBER(copy, "copy of a stack"),
    MEMBER(copy_kib, "  a KiB of it"),
    MEMBER(resume, "sampler lets it go"),
    MEMBER(unwind_frame, "frame of a copied stack"),
    MEMBER(probe, "probe into a method log, its clock kept by others"),
    MEMBER(probe_other, "  of a thread that isn't followed"),
    MEMBER(mark, "probe that writes its name to a ring, no clock"),
    MEMBER(call_record, "record of a call at its exit, without clocks"),
#undef MEMBER
};
enum { MEMBERS = sizeof members / sizeof *members };

static double member_of(const struct sim_costs *c, const struct member *m)
{
    double v;
    memcpy(&v, (const char *)c + m->offset, sizeof v);
    return v;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct figure { double low, median, high; };   /* quartiles */

static struct figure summed_up(double *v, size_t count)
{
    qsort(v, count, sizeof *v, by_value);
    return (struct figure){v[count / 4], v[count / 2], v[count * 3 / 4]};
}

/* ---- what it was measured on ---- */

static void name_processor(char *out, size_t bytes)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(out, bytes, "unknown processor");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (colon && !strncmp(line, "model name", 10)) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(out, bytes, "%s", colon + 2);
            break;
        }
    }
    if (f)
        fclose(f);
    for (char *p = out; *p; p++)   /* it goes into a JSON text */
        if (*p == '"' || *p == '\\' || *p < ' ')
            *p = '?';
}

static bool write_table(const char *path, const struct figure *figures)
{
    char processor[256], day[32];
    struct utsname system;
    time_t now = time(NULL);
    name_processor(processor, sizeof processor);
    uname(&system);
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    FILE *f = fopen(path, "w");
    if (!f)
        return false;
    fprintf(f, "{\n    \"machine\": \"%s, %ld processors, %s %.*s %s\",\n", processor, sysconf(_SC_NPROCESSORS_ONLN),
            system.sysname, (int)strcspn(system.release, "-"), system.release, system.machine);
    fprintf(f, "    \"measured_with\": \"" COMPILER ", medians of %d rounds, %s\",\n", ROUNDS, day);
    for (int i = 0; i < MEMBERS; i++)
        fprintf(f, "    \"%s\": %.*f%s\n", members[i].name, figures[i].median < 100 ? 1 : 0, figures[i].median,
                i + 1 < MEMBERS ? "," : "");
    fprintf(f, "}\n");
    return fclose(f) == 0;
}

int main(int argc, char **argv)
{
    static struct sim_costs rounds[ROUNDS];
    static double hook[COSTS_HOOK_ROUNDS], column[ROUNDS];
    struct figure figures[MEMBERS];
    const char *json = "costs.json";
    int option;
    while ((option = getopt(argc, argv, "o:c:")) != -1)
        switch (option) {
        case 'o': json = optarg; break;
        case 'c': return costs_hook_child(optarg);
        default: fprintf(stderr, "usage: strobe-costs [-o JSON]\n"); return 2;
        }
    if (!costs_hook_measure(argv[0], hook)) {
        fprintf(stderr, "strobe-costs: cannot measure the hook: `strobe record` failed, or is not built\n");
        return 2;
    }
    costs_engine_prepare();
    costs_stop_prepare();
    costs_method_prepare();
    for (int i = 0; i < ROUNDS; i++) {
        costs_engine_round(&rounds[i]);
        costs_stop_round(&rounds[i]);
        costs_method_round(&rounds[i]);
    }
    printf("%-50s %10s %10s %10s  ns\n", "cost", "quartile", "median", "quartile");
    for (int i = 0; i < MEMBERS; i++) {
        for (int r = 0; r < ROUNDS; r++)
            column[r] = member_of(&rounds[r], &members[i]);
        figures[i] = i == 0 ? summed_up(hook, COSTS_HOOK_ROUNDS) : summed_up(column, ROUNDS);
        printf("%-50s %10.1f %10.1f %10.1f\n", members[i].what, figures[i].low, figures[i].median, figures[i].high);
    }
    if (write_table(json, figures))
        return 0;
    fprintf(stderr, "strobe-costs: %s: cannot write\n", json);
    return 2;
}

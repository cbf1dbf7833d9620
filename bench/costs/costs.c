/* Measures what the simulator charges (struct sim_costs) on this machine, with the engine as it is.
 *
 *     strobe-costs [-o JSON] [-n ROUNDS]
 *
 * Prints a table of medians and quartiles, and writes the medians as a cost table. */
#include "bench/costs/costs.h"

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

/* A member with SIM_WAIT_SPANS figures has one for each length of a wait (sim/kernel/lateness.h). */
static const struct member {
    const char *name;
    size_t offset;
    const char *what;
    int spans;
} members[] =
    {
#define MEMBER(name, what)                                                                                             \
    {                                                                                                                  \
#name, offsetof(struct sim_costs, name), what, 1                                                               \
    }
#define SPANS(name, what)                                                                                              \
    {                                                                                                                  \
#name, offsetof(struct sim_costs, name), what, SIM_WAIT_SPANS                                                  \
    }
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
        MEMBER(tick, "signal of a thread's CPU clock, without sample"),
        MEMBER(tick_sample, "  the engine's handler, without clocks and frames"),
        MEMBER(copy, "copy of a stack"),
        MEMBER(copy_kib, "  a KiB of it"),
        MEMBER(resume, "sampler lets it go"),
        MEMBER(unwind_frame, "frame of a copied stack"),
        MEMBER(probe, "probe into a method log, its clock kept by others"),
        MEMBER(probe_other, "  of a thread that isn't followed"),
        MEMBER(mark, "probe that writes its name to a ring, no clock"),
        MEMBER(call_record, "record of a call at its exit, without clocks"),
        MEMBER(stop_far, "sampler stops a thread on another processor"),
        MEMBER(stop_far_target, "  the thread's handler"),
        MEMBER(resume_far, "  sampler lets it go"),
        MEMBER(sampler_wake, "sampler's pass over one thread, after 4 ms of sleep"),
        MEMBER(sampler_wake_soon, "  after 1 ms of sleep"),
        MEMBER(start_call, "start of a thread, by another"),
        MEMBER(start_own, "  the thread, before its own code"),
        MEMBER(end_own, "  after it"),
        MEMBER(attach, "recorded thread's begin"),
        MEMBER(detach, "  its end"),
        MEMBER(clock_start, "sampler gives a thread a CPU clock"),
        MEMBER(clock_end, "  takes it back after the thread's end"),
        MEMBER(slice, "slice of two threads on one processor"),
        MEMBER(turn, "what a thread asks a processor for at a time"),
        SPANS(wait_record, "hooks of a wait"),
        SPANS(tick_wait, "wait of a thread with a CPU clock, beside its call"),
        SPANS(sleep_call, "sleep, in the kernel"),
        SPANS(device_call, "read that waits, in the kernel"),
        SPANS(wake_call, "call that wakes a thread, in the kernel"),
        SPANS(wait_call, "wait that another thread ends, in the kernel"),
},
  latenesses[] = {
      MEMBER(sampler_late, "sampler's wake-up"),     MEMBER(stop_late, "stop of a thread on another processor"),
      SPANS(sleep_late, "end of a sleep"),           SPANS(device_late, "end of a wait for a device"),
      SPANS(wake_late, "wake-up by another thread"),
#undef MEMBER
#undef SPANS
};
enum { MEMBERS = sizeof members / sizeof *members, LATENESSES = sizeof latenesses / sizeof *latenesses };

static double member_of(const struct sim_costs *c, const struct member *m, int span)
{
    double v;
    memcpy(&v, (const char *)c + m->offset + (size_t)span * sizeof v, sizeof v);
    return v;
}

static struct sim_lateness lateness_of(const struct sim_costs *c, const struct member *m, int span)
{
    struct sim_lateness l;
    memcpy(&l, (const char *)c + m->offset + (size_t)span * sizeof l, sizeof l);
    return l;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct figure {
    double low, median, high;
}; /* quartiles */

static struct figure summed_up(double *v, size_t count)
{
    qsort(v, count, sizeof *v, by_value);
    return (struct figure){v[count / 4], v[count / 2], v[count * 3 / 4]};
}

/* Returns the sum of all quantiles, to order rounds by lateness. */
static double weight_of(const struct sim_lateness *l)
{
    double sum = 0;
    for (int i = 0; i < SIM_LATENESS_POINTS; i++)
        sum += (double)l->ns[i];
    return sum;
}

static int by_weight(const void *a, const void *b)
{
    double x = weight_of(a), y = weight_of(b);
    return (x > y) - (x < y);
}

/* Other work makes wake-ups later. So only the quarter of the rounds with the least lateness counts. */
static struct sim_lateness least_disturbed(struct sim_lateness *rounds, size_t count)
{
    struct sim_lateness out;
    size_t quarter = count / 4 + 1;
    double column[ROUNDS];
    qsort(rounds, count, sizeof *rounds, by_weight);
    for (int point = 0; point < SIM_LATENESS_POINTS; point++) {
        for (size_t i = 0; i < quarter; i++)
            column[i] = (double)rounds[i].ns[point];
        out.ns[point] = (uint64_t)summed_up(column, quarter).median;
    }
    return out;
}

/* ---- the measured machine ---- */

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
    for (char *p = out; *p; p++) /* the name goes into a JSON text */
        if (*p == '"' || *p == '\\' || *p < ' ')
            *p = '?';
}

/* The results of each member, for each length of a wait. */
struct measured {
    struct figure figures[MEMBERS][SIM_WAIT_SPANS];
    struct sim_lateness late[LATENESSES][SIM_WAIT_SPANS];
};

static void write_figures(FILE *f, const struct member *m, const struct figure *figures)
{
    fprintf(f, "    \"%s\": %s", m->name, m->spans > 1 ? "[" : "");
    for (int span = 0; span < m->spans; span++)
        fprintf(f, "%s%.*f", span ? ", " : "", figures[span].median < 100 ? 1 : 0, figures[span].median);
    fprintf(f, "%s,\n", m->spans > 1 ? "]" : "");
}

static void write_lateness(FILE *f, const struct member *m, const struct sim_lateness *late, bool is_last)
{
    fprintf(f, "    \"%s\": %s", m->name, m->spans > 1 ? "[" : "");
    for (int span = 0; span < m->spans; span++) {
        fprintf(f, "%s[", span ? ",\n        " : m->spans > 1 ? "\n        " : "");
        for (int point = 0; point < SIM_LATENESS_POINTS; point++)
            fprintf(f, "%s%llu", point ? ", " : "", (unsigned long long)late[span].ns[point]);
        fprintf(f, "]");
    }
    fprintf(f, "%s%s\n", m->spans > 1 ? "]" : "", is_last ? "" : ",");
}

static bool write_table(const char *path, const struct measured *measured, int round_count)
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
    fprintf(f, "    \"measured_with\": \"" COMPILER ", medians of %d rounds, %s\",\n", round_count, day);
    for (int i = 0; i < MEMBERS; i++)
        write_figures(f, &members[i], measured->figures[i]);
    for (int i = 0; i < LATENESSES; i++)
        write_lateness(f, &latenesses[i], measured->late[i], i + 1 == LATENESSES);
    fprintf(f, "}\n");
    return fclose(f) == 0;
}

/* Prints "end of a sleep", or "end of a sleep, of 160 us". */
static void print_what(const struct member *m, int span)
{
    char what[128];
    if (m->spans > 1)
        snprintf(what, sizeof what, "%s, of %llu us", m->what, (unsigned long long)sim_wait_spans_ns[span] / 1000);
    printf("%-56s", m->spans > 1 ? what : m->what);
}

/* Members that a recorded process measures. */
static struct in_child {
    const char *name;
    size_t offset;
    double figures[COSTS_CHILD_ROUNDS];
} in_child[] = {
    {"hook", offsetof(struct sim_costs, hook), {0}},
    {"pass", offsetof(struct sim_costs, sampler_wake), {0}},
    {"soon", offsetof(struct sim_costs, sampler_wake_soon), {0}},
    {"wait 0", offsetof(struct sim_costs, wait_record.ns[0]), {0}},
    {"wait 1", offsetof(struct sim_costs, wait_record.ns[1]), {0}},
    {"wait 2", offsetof(struct sim_costs, wait_record.ns[2]), {0}},
    {"wait 3", offsetof(struct sim_costs, wait_record.ns[3]), {0}},
    {"wait 4", offsetof(struct sim_costs, wait_record.ns[4]), {0}},
    {"attach", offsetof(struct sim_costs, attach), {0}},
    {"detach", offsetof(struct sim_costs, detach), {0}},
};
enum { IN_CHILD = sizeof in_child / sizeof *in_child };

static double *child_figures(size_t offset)
{
    for (int i = 0; i < IN_CHILD; i++)
        if (in_child[i].offset == offset)
            return in_child[i].figures;
    return NULL;
}

static void sum_up_member(const struct member *m, const struct sim_costs *rounds, int round_count, struct figure *out)
{
    static double column[ROUNDS];
    for (int span = 0; span < m->spans; span++) {
        for (int r = 0; r < round_count; r++)
            column[r] = member_of(&rounds[r], m, span);
        double *child = child_figures(m->offset + (size_t)span * sizeof *column);
        out[span] = child ? summed_up(child, COSTS_CHILD_ROUNDS) : summed_up(column, (size_t)round_count);
        if (out[span].median < 0)
            out[span].median = 0; /* a difference below the noise */
        print_what(m, span);
        printf(" %10.1f %10.1f %10.1f\n", out[span].low, out[span].median, out[span].high);
    }
}

static void sum_up_lateness(int i, const struct sim_costs *rounds, int round_count, struct sim_lateness *out)
{
    static struct sim_lateness spreads[ROUNDS];
    for (int span = 0; span < latenesses[i].spans; span++) {
        for (int r = 0; r < round_count; r++)
            spreads[r] = lateness_of(&rounds[r], &latenesses[i], span);
        out[span] = least_disturbed(spreads, (size_t)round_count);
        print_what(&latenesses[i], span);
        for (int point = 0; point < SIM_LATENESS_POINTS; point++)
            printf(" %9llu", (unsigned long long)out[span].ns[point]);
        puts("");
    }
}

static bool measure_in_child(const char *self)
{
    for (int i = 0; i < IN_CHILD; i++)
        if (!costs_child_measure(self, in_child[i].name, in_child[i].figures))
            return false;
    return true;
}

int main(int argc, char **argv)
{
    static struct sim_costs rounds[ROUNDS];
    static struct measured measured;
    const char *json = "costs.json";
    int option, round_count = ROUNDS;
    while ((option = getopt(argc, argv, "o:c:n:")) != -1)
        switch (option) {
        case 'o': json = optarg; break;
        case 'n': round_count = atoi(optarg); break;
        case 'c': return costs_child(argv[optind], optarg);
        default: fprintf(stderr, "usage: strobe-costs [-o JSON] [-n ROUNDS]\n"); return 2;
        }
    if (round_count < 1 || round_count > ROUNDS) {
        fprintf(stderr, "strobe-costs: -n: expected a number of rounds from 1 to %d\n", ROUNDS);
        return 2;
    }
    if (!measure_in_child(argv[0])) {
        fprintf(stderr, "strobe-costs: cannot measure what is recorded: `strobe record` failed, or is not built\n");
        return 2;
    }
    costs_engine_prepare();
    costs_stop_prepare();
    costs_method_prepare();
    costs_wake_prepare();
    costs_tick_prepare();
    for (int i = 0; i < round_count; i++) {
        costs_engine_round(&rounds[i]);
        costs_stop_round(&rounds[i]);
        costs_tick_round(&rounds[i]);
        costs_start_round(&rounds[i]);
        costs_method_round(&rounds[i]);
        costs_wake_round(&rounds[i]);
        costs_line_round(&rounds[i]);
    }
    printf("%-56s %10s %10s %10s  ns\n", "cost", "quartile", "median", "quartile");
    for (int i = 0; i < MEMBERS; i++)
        sum_up_member(&members[i], rounds, round_count, measured.figures[i]);
    printf("\n%-56s", "late, ns: in how many of a thousand at most");
    for (int point = 0; point < SIM_LATENESS_POINTS; point++)
        printf(" %9u", sim_lateness_at[point]);
    puts("");
    for (int i = 0; i < LATENESSES; i++)
        sum_up_lateness(i, rounds, round_count, measured.late[i]);
    if (write_table(json, &measured, round_count))
        return 0;
    fprintf(stderr, "strobe-costs: %s: cannot write\n", json);
    return 2;
}

#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { ROWS_MAX = 64, LINE_BYTES = 256 };

enum verdict { NOTE, OK, MISSED, SKIPPED };

struct row {
    const char *what, *unit, *reference_name, *why;
    double measured, reference, ratio, most;
    enum verdict verdict;
};

static struct row rows[ROWS_MAX];
static int row_count;

static void add(struct row row)
{
    if (row_count == ROWS_MAX)
        abort();
    rows[row_count++] = row;
}

static enum verdict judge(double value, double most)
{
    if (isnan(value))
        return SKIPPED;
    if (isnan(most))
        return NOTE;
    return value <= most ? OK : MISSED;
}

void bench_row_paired(const char *what, const char *unit, double measured, const char *reference_name, double reference,
                      double ratio, double most)
{
    add((struct row){.what = what,
                     .unit = unit,
                     .reference_name = reference_name,
                     .measured = measured,
                     .reference = reference,
                     .ratio = ratio,
                     .most = most,
                     .verdict = judge(ratio, most),
                     .why = "not measured"});
}

void bench_row_ratio(const char *what, const char *unit, double measured, const char *reference_name, double reference,
                     double most)
{
    bench_row_paired(what, unit, measured, reference_name, reference, measured / reference, most);
}

void bench_row_most(const char *what, const char *unit, double measured, double most)
{
    add((struct row){.what = what,
                     .unit = unit,
                     .measured = measured,
                     .reference = NAN,
                     .ratio = NAN,
                     .most = most,
                     .verdict = judge(measured, most),
                     .why = "not measured"});
}

void bench_row_note(const char *what, const char *unit, double measured)
{
    add((struct row){.what = what,
                     .unit = unit,
                     .measured = measured,
                     .reference = NAN,
                     .ratio = NAN,
                     .most = NAN,
                     .verdict = isnan(measured) ? SKIPPED : NOTE,
                     .why = "not measured"});
}

void bench_row_skipped(const char *what, const char *why)
{
    add((struct row){.what = what,
                     .unit = "",
                     .why = why,
                     .measured = NAN,
                     .reference = NAN,
                     .ratio = NAN,
                     .most = NAN,
                     .verdict = SKIPPED});
}

static void machine_line(char *out, size_t bytes)
{
    struct utsname u = {0};
    char model[128] = "unknown processor", line[LINE_BYTES];
    uname(&u);
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %127[^\n]", model) == 1)
            break;
    if (f)
        fclose(f);
    double load[1] = {NAN};
    getloadavg(load, 1);
    snprintf(out, bytes, "%s, %ld processors, %s %s %s, %s, load %.1f", model, sysconf(_SC_NPROCESSORS_ONLN), u.sysname,
             u.release, u.machine,
#ifdef __clang__
             "clang " __clang_version__,
#else
             "gcc " __VERSION__,
#endif
             load[0]);
}

static const char *verdict_text(const struct row *r)
{
    switch (r->verdict) {
    case OK: return "ok";
    case MISSED: return "MISSED";
    case SKIPPED: return r->why;
    case NOTE: break;
    }
    return "";
}

/* Formats a number with few significant digits; NAN as a dash. */
static const char *number(char *out, size_t bytes, double v, const char *unit)
{
    const char *gap = unit && *unit ? " " : "";
    int digits = fabs(v) < 1 ? 3 : fabs(v) < 10 ? 2 : fabs(v) < 1000 ? 1 : 0;
    if (isnan(v))
        snprintf(out, bytes, "-");
    else
        snprintf(out, bytes, "%.*f%s%s", digits, v, gap, unit ? unit : "");
    return out;
}

static void print_row(const struct row *r)
{
    char measured[32], reference[64], value[32], ratio[32], target[32];
    number(measured, sizeof measured, r->measured, r->unit);
    number(value, sizeof value, r->reference, "");
    if (r->reference_name && !isnan(r->reference))
        snprintf(reference, sizeof reference, "%s (%s)", value, r->reference_name);
    else
        snprintf(reference, sizeof reference, "-");
    number(ratio, sizeof ratio, r->ratio, "");
    number(target, sizeof target, r->most, "");
    printf("%-40s %14s   %-34s %7s %8s%s  %s\n", r->what, measured, reference, ratio,
           isnan(r->most) ? "" : "<= ", isnan(r->most) ? "" : target, verdict_text(r));
}

static void json_number(FILE *f, const char *key, double v)
{
    if (isnan(v))
        fprintf(f, ", \"%s\": null", key);
    else
        fprintf(f, ", \"%s\": %.6g", key, v);
}

static void json_rows(FILE *f, const char *machine)
{
    static const char *const name[] = {"note", "ok", "missed", "skipped"};
    fprintf(f, "{\n  \"machine\": \"%s\",\n  \"rows\": [", machine);
    for (int i = 0; i < row_count; i++) {
        const struct row *r = &rows[i];
        fprintf(f, "%s\n    {\"what\": \"%s\", \"unit\": \"%s\", \"reference_is\": \"%s\"", i ? "," : "", r->what,
                r->unit, r->reference_name ? r->reference_name : "");
        json_number(f, "measured", r->measured);
        json_number(f, "reference", r->reference);
        json_number(f, "ratio", r->ratio);
        json_number(f, "target", r->most);
        fprintf(f, ", \"verdict\": \"%s\"}", name[r->verdict]);
    }
    fprintf(f, "\n  ]\n}\n");
}

int bench_table(const char *json_path)
{
    char machine[512];
    int missed = 0;
    machine_line(machine, sizeof machine);
    printf("%-40s %14s   %-34s %7s %8s\n", "what", "measured", "reference", "ratio", "target");
    for (int i = 0; i < row_count; i++) {
        print_row(&rows[i]);
        missed += rows[i].verdict == MISSED;
    }
    printf("%s\n", machine);
    FILE *f = fopen(json_path, "w");
    if (f)
        json_rows(f, machine);
    if (!f || fclose(f)) {
        perror(json_path);
        return -1;
    }
    return missed;
}

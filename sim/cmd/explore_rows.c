#include "engine/cmd/arguments.h"
#include "sim/cmd/explore.h"

#include <string.h>

enum { NAME_LEAST = 12, NAME_MOST = 34 };

const char *strobe_explore_short(double number, char *text, size_t bytes)
{
    static const char units[] = " kMGT";
    size_t unit = 0;
    for (; number >= 9999.5 && unit + 2 < sizeof units; unit++)
        number /= 1000;
    if (unit == 0)
        snprintf(text, bytes, "%.0f", number);
    else
        snprintf(text, bytes, number < 99.95 ? "%.1f %c" : "%.0f %c", number, units[unit]);
    return text;
}

/* ---- verdict */

/* The faults of a set, such as "data race or deadlock". */
static void print_faults(FILE *to, uint32_t faults)
{
    const char * or = "";
    for (unsigned f = 1; f < EXPLORE_FAULTS; f++) {
        if (!(faults & EXPLORE_BIT(f)))
            continue;
        fprintf(to, "%s%s", or, explore_fault_name((enum explore_fault)f));
        or = " or ";
    }
}

static void print_litmus_verdict(FILE *to, const struct explore_outcomes *o)
{
    static const char *const observed[] = {"never", "sometimes", "always"};
    fprintf(to, "%s%s, %s (%llu of %llu)", o->undefined ? "undefined, " : "", o->ok ? "Ok" : "No",
            observed[o->observed], (unsigned long long)o->positive, (unsigned long long)(o->positive + o->negative));
}

static void print_program_verdict(FILE *to, const struct explore_program *program, enum explore_memory memory,
                                  const struct strobe_explore_finding *found)
{
    const struct explore_result *r = &found->result;
    uint32_t known = program->faults[memory];
    bool failed = found->verdict == STROBE_EXPLORE_FAILED;
    if (r->failure.fault != EXPLORE_FINE)
        fprintf(to, "%s%s", failed ? "FAILED: " : "as known: ", explore_fault_name(r->failure.fault));
    else if (failed && known) {
        fputs("FAILED: shows no ", to);
        print_faults(to, known);
    } else if (failed)
        fputs(r->complete ? "FAILED: another count" : "FAILED: not all explored", to);
    else
        fputs(r->complete ? "fine" : "fine so far", to);
}

static void print_verdict(FILE *to, const struct strobe_explore_request *q, const struct strobe_explore_job *job,
                          const struct strobe_explore_finding *found)
{
    const struct explore_result *r = &found->result;
    struct explore_options o = strobe_explore_options(q, job);
    if (found->status != STROBE_OK) {
        fprintf(to, "FAILED: %s", r->failure.message[0] ? r->failure.message : strobe_status_text(found->status));
        return;
    }
    if (found->verdict == STROBE_EXPLORE_STOPPED) {
        fputs("stopped", to);
        return;
    }
    if (job->litmus)
        print_litmus_verdict(to, &found->outcomes);
    else
        print_program_verdict(to, job->program, job->memory, found);
    if (r->variants > 1)
        fprintf(to, ", %llu variants", (unsigned long long)r->variants);
    if (r->duplicates)
        fprintf(to, ", %llu met twice", (unsigned long long)r->duplicates);
    if (job->program->executions && job->memory == EXPLORE_C11 && o.strategy == EXPLORE_EXHAUSTIVE &&
        o.size == job->program->quick)
        fprintf(to, ", published %llu", (unsigned long long)job->program->executions);
    if (o.strategy == EXPLORE_PCT && r->probability > 0)
        fprintf(to, ", finds a bug of depth %u with p >= %.2g each", o.depth, r->probability);
}

/* ---- rows */

static int name_width(const struct strobe_explore_request *q)
{
    int width = NAME_LEAST;
    for (uint32_t i = 0; i < q->job_count; i++) {
        int n = (int)strlen(strobe_explore_name(&q->job[i]));
        width = n > width ? n : width;
    }
    return width < NAME_MOST ? width : NAME_MOST;
}

void strobe_explore_print_head(FILE *to, const struct strobe_explore_request *q)
{
    fprintf(to, "  %-*s mem  threads size executions  blocked operations   per s      time  pairs  verdict\n",
            name_width(q), "program");
}

static double rate_of(const struct explore_result *r)
{
    return r->seconds > 0 ? (double)r->operations / r->seconds : 0;
}

static void print_finding_line(FILE *to, const struct strobe_explore_request *q, const struct strobe_explore_job *job,
                               const struct strobe_explore_finding *found)
{
    const struct explore_result *r = &found->result;
    char operations[24], rate[24], size[16] = "-";
    if (!job->litmus)
        snprintf(size, sizeof size, "%u", strobe_explore_options(q, job).size);
    fprintf(to, "  %-*s %-4s %7u %4s %10llu %8llu %10s %7s %7.2f s %6u  ", name_width(q), strobe_explore_name(job),
            explore_memory_name(job->memory), job->program->thread_count, size, (unsigned long long)r->executions,
            (unsigned long long)r->blocked, strobe_explore_short((double)r->operations, operations, sizeof operations),
            strobe_explore_short(rate_of(r), rate, sizeof rate), r->seconds, r->pairs);
    print_verdict(to, q, job, found);
    putc('\n', to);
}

static void print_json_text(FILE *to, const char *key, const char *text)
{
    fprintf(to, ",\"%s\":\"", key);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(to, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(to, "\\u%04x", *text);
        else
            putc(*text, to);
    putc('"', to);
}

static void print_json_litmus(FILE *to, const struct explore_outcomes *o)
{
    static const char *const observed[] = {"never", "sometimes", "always"};
    fprintf(to, ",\"ok\":%s,\"undefined\":%s,\"observed\":\"%s\",\"positive\":%llu,\"negative\":%llu,\"states\":[",
            o->ok ? "true" : "false", o->undefined ? "true" : "false", observed[o->observed],
            (unsigned long long)o->positive, (unsigned long long)o->negative);
    for (uint32_t i = 0; i < o->count; i++) {
        fprintf(to, "%s{\"executions\":%llu,\"holds\":%s", i ? "," : "", (unsigned long long)o->outcome[i].executions,
                o->outcome[i].holds ? "true" : "false");
        print_json_text(to, "state", o->outcome[i].text);
        putc('}', to);
    }
    putc(']', to);
}

static void print_object(FILE *to, const struct strobe_explore_request *q, const struct strobe_explore_job *job,
                         const struct strobe_explore_finding *found)
{
    static const char *const verdicts[] = {"fine", "failed", "stopped", "impossible"};
    const struct explore_result *r = &found->result;
    struct explore_options o = strobe_explore_options(q, job);
    fprintf(to, "{\"threads\":%u,\"size\":%u", job->program->thread_count, o.size);
    print_json_text(to, "program", strobe_explore_name(job));
    print_json_text(to, "memory", explore_memory_name(job->memory));
    print_json_text(to, "strategy", explore_strategy_name(o.strategy));
    fprintf(to,
            ",\"executions\":%llu,\"blocked\":%llu,\"duplicates\":%llu,\"operations\":%llu,\"variants\":%llu,"
            "\"pairs\":%u,\"seconds\":%.6f,\"operations_per_second\":%.0f,\"complete\":%s,\"failures\":%llu",
            (unsigned long long)r->executions, (unsigned long long)r->blocked, (unsigned long long)r->duplicates,
            (unsigned long long)r->operations, (unsigned long long)r->variants, r->pairs, r->seconds, rate_of(r),
            r->complete ? "true" : "false", (unsigned long long)r->failures);
    if (o.strategy == EXPLORE_PCT)
        fprintf(to, ",\"probability\":%.9g", r->probability);
    if (job->program->executions)
        fprintf(to, ",\"published\":%llu", (unsigned long long)job->program->executions);
    print_json_text(to, "fault", explore_fault_name(r->failure.fault));
    print_json_text(to, "message", r->failure.message);
    print_json_text(to, "verdict", verdicts[found->verdict]);
    if (job->litmus && found->status == STROBE_OK)
        print_json_litmus(to, &found->outcomes);
    putc('}', to);
}

void strobe_explore_print_row(FILE *to, const struct strobe_explore_request *q, const struct strobe_explore_job *job,
                              const struct strobe_explore_finding *found)
{
    if (q->json)
        print_object(to, q, job, found);
    else
        print_finding_line(to, q, job, found);
}

/* ---- details */

/* The command that explores the job again, but for what it prints. */
static void print_explore_command(FILE *to, const struct strobe_explore_request *q,
                                  const struct strobe_explore_job *job)
{
    struct explore_options o = strobe_explore_options(q, job);
    fputs("strobe-lab explore ", to);
    strobe_print_word(to, job->litmus ? job->path : job->program->name);
    fprintf(to, " --memory %s", explore_memory_name(job->memory));
    if (!job->litmus && o.size != job->program->quick)
        fprintf(to, " --size %u", o.size);
    if (o.strategy != EXPLORE_EXHAUSTIVE)
        fprintf(to, " --strategy %s", explore_strategy_name(o.strategy));
    if (o.strategy == EXPLORE_BOUNDED)
        fprintf(to, " --preemptions %u", o.preemptions);
    if (o.strategy == EXPLORE_PCT)
        fprintf(to, " --depth %u", o.depth);
    if (o.strategy == EXPLORE_WALK || o.strategy == EXPLORE_PCT)
        fprintf(to, " --seed %llu", (unsigned long long)o.seed);
    if (o.spurious)
        fputs(" --spurious", to);
}

static void print_interleaving(FILE *to, const struct strobe_explore_request *q, const struct strobe_explore_job *job,
                               const struct explore_result *r)
{
    fprintf(to, "\n%s in memory model %s, ", strobe_explore_name(job), explore_memory_name(job->memory));
    if (!job->litmus && r->failure.size != strobe_explore_options(q, job).size)
        fprintf(to, "at size %u, ", r->failure.size);
    explore_print_failure(to, &r->failure);
    if (!q->save) {
        fputs("save it: ", to);
        print_explore_command(to, q, job);
        fputs(" --save FILE\n", to);
    }
    fputs("again:   strobe-lab explore --replay ", to);
    strobe_print_word(to, q->save ? q->save : "FILE");
    if (job->litmus) {
        putc(' ', to);
        strobe_print_word(to, job->path);
    }
    putc('\n', to);
}

void strobe_explore_print_detail(FILE *to, const struct strobe_explore_request *q, const struct strobe_explore_job *job,
                                 const struct strobe_explore_finding *found)
{
    if (q->json || found->status != STROBE_OK)
        return;
    if (job->litmus && (!q->quiet || found->verdict != STROBE_EXPLORE_FINE)) {
        fprintf(to, "\n%s in memory model %s:\n", job->path, explore_memory_name(job->memory));
        explore_litmus_print(to, job->litmus, &found->outcomes);
    }
    bool shown = q->show || q->save || found->verdict == STROBE_EXPLORE_FAILED;
    if (shown && found->result.failure.fault != EXPLORE_FINE)
        print_interleaving(to, q, job, &found->result);
}

#include "engine/cmd/report_folder.h"
#include "engine/base/error.h"

#include "engine/cmd/cmd.h"
#include "engine/trace/model/sink.h"
#include "engine/trace/session/reader.h"
#include "engine/trace/session/session_set.h"
#include "engine/util/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct process {
    char program[64], verdict[256];
    const char *path;
    uint32_t pid, threads;
    uint64_t begin_ns, wall_ns, cpu_ns, samples; /* begin_ns: since the begin of the first process */
    bool balanced;
    uint32_t state; /* enum strobe_session_state */
};

struct program {
    const char *name;
    uint64_t processes, wall_ns, cpu_ns, samples;
};

struct sum {
    struct process *processes;
    size_t count;
    struct program *programs;
    size_t program_count;
    size_t unbalanced;
};

/* ---- reading */

/* Returns the process's CPU clock at its last reading, else the CPU time that its samples show. */
static uint64_t cpu_of(const struct strobe_reader *r)
{
    uint64_t process_ns = 0, threads_ns = 0;
    for (size_t i = 0; i < r->counter_count; i++)
        if (r->counters[i].what == STROBE_SERIES_CPU_NS && r->counters[i].value > process_ns)
            process_ns = r->counters[i].value;
    for (uint32_t t = 0; t < r->thread_count; t++) {
        uint64_t most = 0;
        for (size_t i = 0; i < r->threads[t].item_count; i++) {
            const struct strobe_record *record = &r->threads[t].items[i].record;
            if (record->flags & STROBE_FLAG_CPU && record->cpu_ns > most)
                most = record->cpu_ns;
        }
        threads_ns += most;
    }
    return process_ns > threads_ns ? process_ns : threads_ns;
}

static int read_process(const char *path, uint64_t first_ns, struct process *out)
{
    struct strobe_reader *r;
    struct strobe_error error = {""};
    size_t bytes;
    if (strobe_reader_open(path, &r, &error) != STROBE_OK)
        return strobe_complain("%s: %s", path, error.text);
    const char *name = strobe_sink_process_name(r->session.header, &bytes);
    *out = (struct process){.path = path,
                            .pid = r->session.header->pid,
                            .threads = r->thread_count,
                            .begin_ns = strobe_reader_ns(r, 0) - first_ns,
                            .cpu_ns = cpu_of(r),
                            .wall_ns = strobe_reader_span_ns(r, r->last_ticks - r->first_ticks),
                            .samples = r->samples,
                            .state = strobe_load_relaxed(&r->session.header->state)};
    snprintf(out->program, sizeof out->program, "%.*s", (int)bytes, name);
    struct strobe_error verdict = {""};
    out->balanced = strobe_reader_check(r, &verdict);
    strobe_error_copy(&verdict, out->verdict, sizeof out->verdict);
    strobe_reader_close(r);
    return 0;
}

static void add_to_program(struct sum *s, const struct process *p)
{
    size_t i = 0;
    while (i < s->program_count && strcmp(s->programs[i].name, p->program))
        i++;
    if (i == s->program_count)
        s->programs[s->program_count++] = (struct program){.name = p->program};
    s->programs[i].processes++;
    s->programs[i].wall_ns += p->wall_ns;
    s->programs[i].cpu_ns += p->cpu_ns;
    s->programs[i].samples += p->samples;
}

static int compare_descending(uint64_t a, uint64_t b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

static int by_cpu(const void *a, const void *b)
{
    const struct process *v = a, *w = b;
    int order = compare_descending(v->cpu_ns, w->cpu_ns);
    return order ? order : compare_descending(w->begin_ns, v->begin_ns);
}

static int programs_by_cpu(const void *a, const void *b)
{
    const struct program *v = a, *w = b;
    int order = compare_descending(v->cpu_ns, w->cpu_ns);
    return order ? order : strcmp(v->name, w->name);
}

static int folder_read_sessions(const struct strobe_session_set *set, struct sum *s)
{
    uint64_t first_ns = 0;
    s->processes = calloc(set->count, sizeof *s->processes);
    s->programs = calloc(set->count, sizeof *s->programs);
    if (!s->processes || !s->programs)
        return strobe_complain("out of memory");
    for (size_t i = 0; i < set->count; i++) {
        int status = read_process(set->paths[i], first_ns, &s->processes[i]);
        if (status)
            return status;
        if (i == 0) {
            first_ns = s->processes[0].begin_ns;
            s->processes[0].begin_ns = 0;
        }
        s->unbalanced += !s->processes[i].balanced;
        s->count++;
    }
    qsort(s->processes, s->count, sizeof *s->processes, by_cpu);
    for (size_t i = 0; i < s->count; i++)
        add_to_program(s, &s->processes[i]);
    qsort(s->programs, s->program_count, sizeof *s->programs, programs_by_cpu);
    return 0;
}

/* ---- printing */

static double ns_to_ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static size_t shown_count(size_t count, uint32_t top)
{
    return top && top < count ? top : count;
}

static void print_rest(size_t count, size_t printed)
{
    if (count > printed)
        printf("   ... %zu more\n", count - printed);
}

/* The end status of followed children is unknown. */
static const char *process_end_name(const struct process *p)
{
    return p->state == STROBE_SESSION_RUNNING ? " (not closed)" : p->state == STROBE_SESSION_KILLED ? " (killed)" : "";
}

static void folder_print_text(const struct sum *s, uint32_t top)
{
    size_t programs = shown_count(s->program_count, top), processes = shown_count(s->count, top);
    printf("%zu %s\n\nPrograms by CPU time\n  processes     CPU ms    wall ms   samples  program\n", s->count,
           s->count == 1 ? "process" : "processes");
    for (size_t i = 0; i < programs; i++) {
        const struct program *p = &s->programs[i];
        printf("%11" PRIu64 " %10.2f %10.2f %9" PRIu64 "  %s\n", p->processes, ns_to_ms(p->cpu_ns),
               ns_to_ms(p->wall_ns), p->samples, p->name);
    }
    print_rest(s->program_count, programs);
    printf("\nProcesses by CPU time\n        pid   begin ms    wall ms     CPU ms  threads   samples  program\n");
    for (size_t i = 0; i < processes; i++) {
        const struct process *p = &s->processes[i];
        printf("%11" PRIu32 " %10.2f %10.2f %10.2f %8" PRIu32 " %9" PRIu64 "  %s%s\n", p->pid, ns_to_ms(p->begin_ns),
               ns_to_ms(p->wall_ns), ns_to_ms(p->cpu_ns), p->threads, p->samples, p->program, process_end_name(p));
    }
    print_rest(s->count, processes);
    printf("\n");
    for (size_t i = 0; i < s->count; i++)
        if (!s->processes[i].balanced)
            printf("%s: the accounting is not consistent: %s\n", s->processes[i].path, s->processes[i].verdict);
    if (!s->unbalanced)
        printf(
            "The accounting of each process is consistent. `strobe report` of a file in the folder has one process.\n");
}

static void folder_print_json(const struct sum *s)
{
    struct strobe_json j = {.out = stdout};
    strobe_json_object(&j, NULL);
    strobe_json_text(&j, "source", "folder");
    strobe_json_bool(&j, "balanced", !s->unbalanced);
    strobe_json_array(&j, "processes");
    for (size_t i = 0; i < s->count; i++) {
        const struct process *p = &s->processes[i];
        strobe_json_object(&j, NULL);
        strobe_json_text(&j, "session", p->path);
        strobe_json_uint(&j, "pid", p->pid);
        strobe_json_text(&j, "program", p->program);
        strobe_json_uint(&j, "begin_ns", p->begin_ns);
        strobe_json_uint(&j, "wall_ns", p->wall_ns);
        strobe_json_uint(&j, "cpu_ns", p->cpu_ns);
        strobe_json_uint(&j, "threads", p->threads);
        strobe_json_uint(&j, "samples", p->samples);
        strobe_json_bool(&j, "closed", p->state == STROBE_SESSION_CLOSED);
        strobe_json_bool(&j, "exited", p->state == STROBE_SESSION_EXITED);
        strobe_json_bool(&j, "killed", p->state == STROBE_SESSION_KILLED);
        strobe_json_bool(&j, "balanced", p->balanced);
        strobe_json_object_end(&j);
    }
    strobe_json_array_end(&j);
    strobe_json_object_end(&j);
}

int strobe_report_folder(const char *path, uint32_t top, bool json)
{
    struct strobe_session_set set;
    struct sum s = {0};
    enum strobe_status status = strobe_session_set_list(path, &set);
    if (status != STROBE_OK)
        return strobe_complain("%s: %s", path,
                               status == STROBE_NO_ENTRY ? "a folder without sessions" : strerror(errno));
    int exit_status = folder_read_sessions(&set, &s);
    if (exit_status == 0) {
        strobe_output_begin();
        if (json)
            folder_print_json(&s);
        else
            folder_print_text(&s, top);
        exit_status = strobe_output_end(s.unbalanced ? STROBE_EXIT_CHECK : STROBE_EXIT_OK);
    }
    free(s.processes);
    free(s.programs);
    strobe_session_set_free(&set);
    return exit_status;
}

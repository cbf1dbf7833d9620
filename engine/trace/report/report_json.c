/* Prints the report as one JSON object. */
#include "engine/trace/report/report.h"

#include "engine/trace/report/report_parts.h"
#include "engine/trace/report/report_sched.h"
#include "engine/trace/report/report_sections.h"
#include "engine/util/json.h"

#include <string.h>

static void write_json_process(const struct strobe_report *r, struct strobe_json *j)
{
    const struct strobe_report_process *p = &r->process;
    if (!p->values && !p->longest_ns)
        return;
    strobe_json_object(j, "process");
    strobe_json_uint(j, "values", p->values);
    strobe_json_uint(j, "cpu_ns", p->cpu_ns);
    strobe_json_uint(j, "span_ns", p->span_ns);
    strobe_json_uint(j, "footprint_peak_bytes", p->footprint_peak_bytes);
    strobe_json_uint(j, "threads_max", p->threads_max);
    strobe_json_uint(j, "mach_traps", p->mach_traps);
    strobe_json_uint(j, "hitches", p->hitches);
    strobe_json_uint(j, "hangs", p->hangs);
    strobe_json_uint(j, "late_ns", p->late_ns);
    strobe_json_uint(j, "longest_begin_ns", p->longest_begin_ns);
    strobe_json_uint(j, "longest_ns", p->longest_ns);
    strobe_json_text(j, "longest_in", p->longest_in);
    strobe_json_object_end(j);
}

static void write_json_threads(const struct strobe_report *r, struct strobe_json *j)
{
    strobe_json_array(j, "threads");
    for (size_t i = 0; i < r->thread_count; i++) {
        const struct strobe_report_thread *t = &r->threads[i];
        strobe_json_object(j, NULL);
        strobe_json_text(j, "name", t->name);
        strobe_json_uint(j, "tid", t->tid);
        strobe_json_uint(j, "generation", t->generation);
        strobe_json_bool(j, "is_main", t->is_main);
        strobe_json_uint(j, "wall_ns", t->wall_ns);
        strobe_json_uint(j, "cpu_ns", t->cpu_ns);
        strobe_json_uint(j, "wait_ns", t->wait_ns);
        strobe_json_uint(j, "off_cpu_ns", t->off_ns);
        strobe_json_uint(j, "gap_ns", t->gap_ns);
        strobe_json_uint(j, "slices", t->slices);
        strobe_json_uint(j, "waits", t->waits);
        strobe_json_uint(j, "samples", t->samples);
        strobe_json_uint(j, "lost", t->lost);
        if (t->restricted_ns)
            strobe_json_uint(j, "restricted_ns", t->restricted_ns);
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
}

static void write_json_methods(const struct strobe_report *r, struct strobe_json *j)
{
    int session = !strcmp(r->source, "session");
    strobe_json_array(j, "methods");
    for (size_t i = 0; i < r->method_count; i++) {
        const struct strobe_report_method *m = &r->methods[i];
        strobe_json_object(j, NULL);
        strobe_json_text(j, "name", m->name);
        strobe_json_text(j, "image", m->image);
        strobe_json_uint(j, "self_ns", m->self_ns);
        strobe_json_uint(j, "self_cpu_ns", m->self_cpu_ns);
        strobe_json_uint(j, "total_ns", m->total_ns);
        strobe_json_uint(j, "total_cpu_ns", m->total_cpu_ns);
        strobe_json_uint(j, "slices", m->slices);
        if (session) {
            strobe_json_uint(j, "alloc_self_bytes", m->alloc_self_bytes);
            strobe_json_uint(j, "alloc_self_count", m->alloc_self_count);
            strobe_json_uint(j, "alloc_total_bytes", m->alloc_total_bytes);
            strobe_json_uint(j, "alloc_total_count", m->alloc_total_count);
        }
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
    strobe_json_uint(j, "method_count_in_all", r->method_count_in_all);
}

static void write_json_waits(const struct strobe_report *r, struct strobe_json *j)
{
    strobe_json_array(j, "wait_kinds");
    for (size_t i = 0; i < r->wait_kind_count; i++) {
        strobe_json_object(j, NULL);
        strobe_json_text(j, "kind", r->wait_kinds[i].kind);
        strobe_json_uint(j, "duration_ns", r->wait_kinds[i].duration_ns);
        strobe_json_uint(j, "count", r->wait_kinds[i].count);
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
    strobe_json_array(j, "waits");
    for (size_t i = 0; i < r->wait_count; i++) {
        const struct strobe_report_wait *w = &r->waits[i];
        strobe_json_object(j, NULL);
        strobe_json_text(j, "kind", w->kind);
        strobe_json_text(j, "thread", w->thread);
        strobe_json_uint(j, "tid", w->tid);
        strobe_json_text(j, "method", w->method);
        strobe_json_uint(j, "begin_ns", w->begin_ns);
        strobe_json_uint(j, "duration_ns", w->duration_ns);
        strobe_json_uint(j, "arg", w->arg);
        strobe_json_bool(j, "unfinished", w->unfinished);
        strobe_json_text(j, "waker", w->waker);
        strobe_json_uint(j, "waker_tid", w->waker_tid);
        strobe_json_bool(j, "nobody", w->nobody);
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
}

static void tally(struct strobe_json *j, const char *key, const struct strobe_tally *t)
{
    strobe_json_object(j, key);
    strobe_json_uint(j, "requests", t->requests);
    strobe_json_uint(j, "sampled", t->sampled);
    strobe_json_uint(j, "gated", t->gated);
    strobe_json_uint(j, "paused", t->paused);
    strobe_json_uint(j, "reentrant", t->reentrant);
    strobe_json_uint(j, "unwind_failed", t->unwind_failed);
    strobe_json_uint(j, "dropped", t->dropped);
    strobe_json_int(j, "in_flight", t->in_flight);
    strobe_json_uint(j, "records", t->records);
    strobe_json_uint(j, "present", t->present);
    strobe_json_int(j, "overwritten", t->overwritten);
    strobe_json_object_end(j);
}

static void write_json_losses(const struct strobe_report *r, struct strobe_json *j)
{
    tally(j, "events", &r->events);
    strobe_json_object(j, "events_by_kind");
    for (unsigned k = 0; k < STROBE_KIND_COUNT; k++)
        if (r->by_kind[k].requests)
            tally(j, strobe_kind_name(k), &r->by_kind[k]);
    strobe_json_object_end(j);
    strobe_json_object(j, "calls");
    strobe_json_uint(j, "told", r->calls.recorded);
    strobe_json_uint(j, "present", r->calls.present);
    strobe_json_uint(j, "overwritten", r->calls.overwritten);
    strobe_json_uint(j, "refused", r->calls.refused);
    strobe_json_uint(j, "calls", r->calls.calls);
    strobe_json_uint(j, "repaired", r->calls.repaired);
    strobe_json_uint(j, "unmatched", r->calls.unmatched);
    strobe_json_object_end(j);
    strobe_json_object(j, "stacks");
    strobe_json_uint(j, "cut", r->stacks_cut);
    strobe_json_uint(j, "doubtful", r->stacks_doubtful);
    strobe_json_uint(j, "refused", r->stacks_refused);
    if (r->native_gaps)
        strobe_json_uint(j, "native_gaps", r->native_gaps);
    strobe_json_uint(j, "engine_samples", r->engine_samples);
    strobe_json_object_end(j);
    strobe_json_object(j, "short_waits");
    strobe_json_uint(j, "count", r->short_waits);
    strobe_json_uint(j, "ns", r->short_wait_ns);
    strobe_json_object_end(j);
    strobe_json_object(j, "ring");
    strobe_json_uint(j, "overwrote", r->overwrote);
    strobe_json_uint(j, "half_written", r->half_written);
    strobe_json_uint(j, "malformed", r->malformed);
    strobe_json_uint(j, "untracked", r->untracked);
    strobe_json_object_end(j);
    strobe_json_object(j, "sampler");
    strobe_json_uint(j, "passes", r->passes);
    strobe_json_uint(j, "late_passes", r->late_passes);
    strobe_json_uint(j, "lag_ns", r->lag_ns);
    strobe_json_uint(j, "suspends", r->suspends);
    strobe_json_uint(j, "resumes", r->resumes);
    strobe_json_uint(j, "suspend_late", r->suspend_late);
    strobe_json_uint(j, "suspend_gone", r->suspend_gone);
    strobe_json_uint(j, "suspend_moved", r->suspend_moved);
    if (r->signal_taken)
        strobe_json_uint(j, "signal_taken", r->signal_taken);
    strobe_json_object(j, "stops");
    strobe_json_uint(j, "count", r->stops.count);
    strobe_json_uint(j, "median_ns", r->stops.median);
    strobe_json_uint(j, "p99_ns", r->stops.percentile_99);
    strobe_json_uint(j, "longest_ns", r->stops.longest);
    strobe_json_object_end(j);
    strobe_json_object_end(j);
    strobe_json_bool(j, "balanced", r->balanced);
    strobe_json_text(j, "verdict", r->balanced ? NULL : r->verdict);
}

void strobe_report_print_json(const struct strobe_report *r, FILE *out)
{
    struct strobe_json json = {.out = out}, *j = &json;
    int session = !strcmp(r->source, "session");
    strobe_json_object(j, NULL);
    strobe_json_text(j, "source", r->source);
    strobe_json_text(j, "command", r->command);
    strobe_json_text(j, "exe", r->exe);
    strobe_json_uint(j, "pid", r->pid);
    if (session) {
        strobe_json_bool(j, "closed", r->closed);
        strobe_json_bool(j, "exited", r->exited);
        strobe_json_bool(j, "killed", r->killed);
    }
    strobe_json_uint(j, "begin_ns", r->begin_ns);
    strobe_json_uint(j, "wall_ns", r->wall_ns);
    strobe_json_uint(j, "cpu_ns", r->cpu_ns);
    write_json_process(r, j);
    write_json_threads(r, j);
    write_json_methods(r, j);
    strobe_report_json_parts(r, j);
    write_json_waits(r, j);
    if (session)
        strobe_report_json_sections(r, j);
    strobe_report_json_sched(r, j);
    if (session)
        write_json_losses(r, j);
    strobe_json_object(j, "recorded");
    for (size_t i = 0; i < r->fact_count; i++)
        strobe_json_uint(j, r->facts[i].key, r->facts[i].value);
    strobe_json_object_end(j);
    if (r->feature_count) {
        strobe_json_array(j, "features");
        for (size_t i = 0; i < r->feature_count; i++)
            strobe_json_text(j, NULL, r->features[i]);
        strobe_json_array_end(j);
    }
    strobe_json_array(j, "warnings");
    for (size_t i = 0; i < r->warning_count; i++)
        strobe_json_text(j, NULL, r->warnings[i]);
    strobe_json_array_end(j);
    strobe_json_object_end(j);
}

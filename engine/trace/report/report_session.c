#include "engine/base/error_format.h"
#include "engine/trace/report/report_process.h"

#include "engine/trace/build/timeline.h"
#include "engine/trace/model/sink_threads.h"
#include "engine/trace/model/sink_window.h"
#include "engine/trace/report/report_parts.h"
#include "engine/trace/report/report_sched.h"
#include "engine/trace/report/report_sections.h"
#include "engine/trace/symbols/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A sink that sums up the timeline. */
struct adder {
    struct strobe_sink sink;
    const struct strobe_reader *reader;
    struct strobe_profile profile;
    uint32_t thread;
    enum strobe_profile_end end; /* end of the wait that ends next */
    uint32_t waker;
    struct strobe_process_sum process;
    struct strobe_breakdown breakdown;
    struct strobe_source_lines lines;
    struct strobe_section_sum sections;
    const char *only; /* the thread that is counted; NULL = all */
    struct strobe_function_tree *tree;
    struct strobe_symbols *symbols;
};

/* The inputs of a report. They are freed when the report is complete. */
struct job {
    struct strobe_report *report;
    struct strobe_reader *reader;
    struct strobe_symbols *symbols;
    struct strobe_function_tree *tree;
    struct adder adder;
    struct strobe_allocation_sum allocations;
    struct strobe_error *error;
};

static void report_start(struct strobe_sink *sink, const struct strobe_reader *reader,
                         struct strobe_function_tree *tree)
{
    (void)tree;
    struct adder *a = (struct adder *)sink;
    a->reader = a->sections.reader = reader;
}

static void report_thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *thread)
{
    struct adder *a = (struct adder *)sink;
    a->thread = (uint32_t)(thread - a->reader->threads);
    strobe_sections_thread_begin(&a->sections, a->thread);
}

static void report_slice_begin(struct strobe_sink *sink, const struct strobe_slice *slice)
{
    struct adder *a = (struct adder *)sink;
    strobe_process_slice_begin(&a->process, a->thread, slice->begin.time_ns, slice->name);
    strobe_breakdown_begin(&a->breakdown, slice);
    strobe_profile_begin(&a->profile, a->thread, slice->name, slice->class, slice->begin.time_ns, slice->begin.cpu_ns);
}

static void report_slice_end(struct strobe_sink *sink, const struct strobe_slice *slice,
                             const struct strobe_moment *now)
{
    struct adder *a = (struct adder *)sink;
    strobe_process_slice_end(&a->process, a->thread, now->time_ns);
    strobe_breakdown_end(&a->breakdown, now);
    struct strobe_profile_wait *wait = strobe_profile_end(&a->profile, a->thread, now->time_ns, now->cpu_ns);
    if (wait) {
        wait->arg = slice->arg;
        wait->unfinished = slice->unfinished;
        wait->end = a->end;
        wait->waker = a->waker;
    }
    a->end = STROBE_END_UNKNOWN;
}

static void report_samples(struct strobe_sink *sink, const struct strobe_samples *s)
{
    struct adder *a = (struct adder *)sink;
    strobe_source_lines_add(&a->lines, a->tree, &a->reader->session.stacks, a->symbols, s);
}

static void report_cpu(struct strobe_sink *sink, const struct strobe_cpu_share *s)
{
    struct adder *a = (struct adder *)sink;
    strobe_sections_cpu(&a->sections, s);
    const struct strobe_function_node *nodes = strobe_function_tree_node(a->tree, 0);
    size_t depth = nodes[s->node].depth, count = 0;
    uint32_t *names = depth ? malloc(depth * sizeof *names) : NULL;
    if (!names) {
        a->profile.failed |= depth != 0;
        return;
    }
    for (uint32_t node = s->node; node; node = nodes[node].parent)
        names[count++] = nodes[node].name;
    strobe_profile_cpu(&a->profile, names, count, s->cpu_ns);
    strobe_breakdown_cpu(&a->breakdown, s);
    free(names);
}

static void report_wake(struct strobe_sink *sink, const struct strobe_wake_flow *f)
{
    struct adder *a = (struct adder *)sink;
    if (f->at_waker)
        return;
    a->end = f->waker == STROBE_NO_THREAD ? STROBE_END_BY_NOBODY : STROBE_END_BY_THREAD;
    a->waker = f->waker;
}

static void report_value(struct strobe_sink *sink, const struct strobe_value *v)
{
    strobe_process_value(&((struct adder *)sink)->process, v->what, v->time_ns, v->value);
}

static void report_hitch(struct strobe_sink *sink, const struct strobe_late *l)
{
    strobe_process_hitch(&((struct adder *)sink)->process, l->how, l->begin_ns, l->end_ns, l->thread);
}

static void report_mark(struct strobe_sink *sink, const struct strobe_mark *m)
{
    struct adder *a = (struct adder *)sink;
    if (!a->only || (m->thread && strobe_is_thread(m->thread, a->only)))
        strobe_sections_mark(&a->sections, m);
}

static enum strobe_status report_finish(struct strobe_sink *sink)
{
    return strobe_profile_finish(&((struct adder *)sink)->profile);
}

static const char *keep_session_text(struct strobe_report *r, const char *text)
{
    const char *kept = strobe_text_keep(&r->texts, text, strlen(text));
    return kept ? kept : "";
}

/* Copies the name, because the report outlives the tree. */
static const char *session_name_of(void *ctx, uint32_t name)
{
    struct job *j = ctx;
    return keep_session_text(j->report, strobe_function_tree_name(j->tree, name)->text);
}

static const char *session_image_of(void *ctx, uint32_t name)
{
    struct job *j = ctx;
    return keep_session_text(j->report, strobe_function_tree_name(j->tree, name)->image);
}

static int report_in_syscall(void *ctx, uint64_t return_address, struct strobe_symbol *out)
{
    return strobe_symbols_in_syscall(ctx, return_address, out);
}

static uint64_t lost_calls(const struct strobe_reader_thread *t)
{
    return t->calls.refused + (t->calls.overwritten > 0 ? (uint64_t)t->calls.overwritten : 0);
}

/* Returns the time since the session's begin at which seccomp ended the recording of a thread; 0 = it did not. */
static uint64_t restricted_ns(const struct strobe_reader *r, const struct strobe_reader_thread *t)
{
    return t->state == STROBE_THREAD_RESTRICTED ? strobe_reader_span_ns(r, t->end_ticks - r->first_ticks) : 0;
}

static enum strobe_status take_session_threads(struct job *j)
{
    struct strobe_report *r = j->report;
    const struct strobe_profile *p = &j->adder.profile;
    r->threads = calloc(j->reader->thread_count ? j->reader->thread_count : 1, sizeof *r->threads);
    if (!r->threads)
        return STROBE_IO;
    for (uint32_t i = 0; i < j->reader->thread_count; i++) {
        const struct strobe_reader_thread *t = &j->reader->threads[i];
        struct strobe_report_thread *out = &r->threads[r->thread_count++];
        *out =
            (struct strobe_report_thread){.name = keep_session_text(r, t->name),
                                          .tid = t->tid,
                                          .generation = t->generation,
                                          .is_main = t->is_main,
                                          .restricted_ns = restricted_ns(j->reader, t),
                                          .samples = t->samples,
                                          .lost = t->dropped + t->overwritten + t->all.unwind_failed + lost_calls(t)};
        if (i >= p->thread_count)
            continue;
        out->wall_ns = p->threads[i].last_ns - p->threads[i].first_ns;
        out->cpu_ns = p->threads[i].cpu_ns;
        out->wait_ns = p->threads[i].wait_ns;
        out->gap_ns = p->threads[i].gap_ns;
        out->off_ns = p->threads[i].off_ns;
        out->slices = p->threads[i].slices;
        out->waits = p->threads[i].waits;
    }
    return STROBE_OK;
}

static void take_header(struct strobe_report *r, const struct strobe_reader *reader)
{
    const struct strobe_session_header *h = reader->session.header;
    char text[sizeof h->command + 1];
    memcpy(text, h->command, sizeof h->command);
    text[sizeof h->command] = 0;
    r->command = keep_session_text(r, text);
    memcpy(text, h->exe, sizeof h->exe);
    text[sizeof h->exe] = 0;
    r->exe = keep_session_text(r, text);
    r->pid = h->pid;
    r->closed = reader->closed;
    r->exited = strobe_load_relaxed(&h->state) == STROBE_SESSION_EXITED;
    r->killed = strobe_load_relaxed(&h->state) == STROBE_SESSION_KILLED;
    r->begin_ns = strobe_reader_ns(reader, reader->first_ticks);
    r->wall_ns = strobe_reader_span_ns(reader, reader->last_ticks - reader->first_ticks);
}

static void take_losses(struct strobe_report *r, const struct strobe_reader *reader, struct strobe_function_tree *tree)
{
    const struct strobe_session_header *h = reader->session.header;
    r->events = reader->all;
    for (uint32_t i = 0; i < reader->thread_count; i++) {
        for (int k = 0; k < STROBE_KIND_COUNT; k++) {
            const struct strobe_tally *from = &reader->threads[i].kind[k];
            struct strobe_tally *to = &r->by_kind[k];
            to->requests += from->requests;
            to->sampled += from->sampled;
            to->gated += from->gated;
            to->paused += from->paused;
            to->reentrant += from->reentrant;
            to->unwind_failed += from->unwind_failed;
            to->dropped += from->dropped;
            to->in_flight += from->in_flight;
            to->records += from->records;
            to->present += from->present;
            to->overwritten += from->overwritten;
        }
    }
    for (size_t i = 0; i < reader->item_count; i++) {
        const struct strobe_record *record = &reader->items[i].record;
        unsigned incomplete = strobe_stack_incomplete(record);
        r->engine_samples += strobe_function_tree_in_engine(tree, record->stack, incomplete) ? record->count : 0;
        r->stacks_cut += (reader->items[i].record.flags & STROBE_FLAG_CUT) != 0;
        r->stacks_doubtful += (reader->items[i].record.flags & STROBE_FLAG_DOUBTFUL) != 0;
    }
    uint64_t short_wait_ticks = 0;
    for (uint32_t i = 0; i < reader->thread_count; i++) {
        r->short_waits += reader->threads[i].short_waits;
        short_wait_ticks += reader->threads[i].short_wait_ticks;
    }
    r->short_wait_ns = strobe_reader_span_ns(reader, short_wait_ticks);
    r->stacks_refused = reader->stacks_refused;
    r->overwrote = reader->overwrote;
    r->half_written = reader->half_written;
    r->malformed = reader->malformed;
    r->untracked = reader->untracked;
    r->suspends = reader->suspends;
    r->resumes = reader->resumes;
    r->suspend_late = strobe_load_relaxed(&h->suspend_late);
    r->suspend_gone = strobe_load_relaxed(&h->suspend_gone);
    r->suspend_moved = strobe_load_relaxed(&h->suspend_moved);
    if (h->header_bytes >= offsetof(struct strobe_session_header, signal_taken) + sizeof h->signal_taken)
        r->signal_taken = strobe_load_relaxed(&h->signal_taken);
    r->native_gaps = strobe_load_relaxed(&h->native_gaps);
    struct strobe_stop_times stops = strobe_stops_read(&h->stops);
    r->stops = (struct strobe_stop_times){stops.count, strobe_reader_span_ns(reader, stops.median),
                                          strobe_reader_span_ns(reader, stops.percentile_99),
                                          strobe_reader_span_ns(reader, stops.longest)};
    r->passes = strobe_load_relaxed(&h->async_passes);
    r->late_passes = strobe_load_relaxed(&h->async_late_passes);
    r->lag_ns = strobe_reader_span_ns(reader, strobe_load_relaxed(&h->async_lag_ticks));
    struct strobe_error verdict = {""};
    r->balanced = strobe_reader_check(reader, &verdict);
    if (!r->balanced)
        strobe_error_copy(&verdict, r->verdict, sizeof r->verdict);
}

static void take_call_counts(struct strobe_report *r, const struct strobe_reader *reader,
                             const struct strobe_timeline_stats *shown)
{
    const struct strobe_reader_calls *c = &reader->calls;
    r->calls = (struct strobe_report_calls){c->recorded,
                                            c->present,
                                            c->overwritten > 0 ? (uint64_t)c->overwritten : 0,
                                            c->refused,
                                            shown->calls,
                                            shown->calls_repaired,
                                            shown->calls_unmatched};
}

/* Adds warnings about images whose names are missing, with the remedy. */
static enum strobe_status warn_of_images(struct job *j)
{
    const struct strobe_image_report *images;
    size_t count = strobe_symbols_images(j->symbols, &images);
    for (size_t i = 0; i < count; i++) {
        const struct strobe_image_report *m = &images[i];
        enum strobe_status status = STROBE_OK;
        if (m->state == STROBE_IMAGE_CHANGED || m->state == STROBE_IMAGE_MISSING)
            status = strobe_report_warn(j->report, "%s: %s; %" PRIu64 " addresses have no name", m->path,
                                        strobe_image_state_text(m->state), m->unnamed);
        else if (m->state != STROBE_IMAGE_NO_FILE && m->unnamed * 4 > m->addresses)
            status = strobe_report_warn(j->report,
                                        "%s: %s; %" PRIu64 " of %" PRIu64 " addresses have no name: install its debug "
                                        "symbols",
                                        m->path, strobe_image_state_text(m->state), m->unnamed, m->addresses);
        if (status != STROBE_OK)
            return status;
    }
    return STROBE_OK;
}

/* Returns 1 if a name is an address outside of all images for which the session has no name. */
static int is_unnamed_code(const struct strobe_name *name)
{
    return !name->image[0] && !strncmp(name->text, "0x", 2);
}

/* Adds the self times of functions, and of those in generated code without names. Returns 0 when no CPU time is known,
 * and `by_cpu` asks for it. */
static int sum_unnamed_code(const struct job *j, int by_cpu, uint64_t *unnamed_ns, uint64_t *all_ns)
{
    const struct strobe_profile *p = &j->adder.profile;
    *unnamed_ns = *all_ns = 0;
    for (uint32_t i = 0; i < p->method_count && i < strobe_function_tree_name_count(j->tree); i++) {
        const struct strobe_profile_method *m = &p->methods[i];
        uint64_t self_ns = by_cpu ? m->self_cpu_ns : m->self_ns;
        if (m->class != STROBE_SLICE_FUNCTION)
            continue;
        *all_ns += self_ns;
        *unnamed_ns += is_unnamed_code(strobe_function_tree_name(j->tree, i)) ? self_ns : 0;
    }
    return *all_ns != 0;
}

/* Adds a warning with the time in generated code without names: CPU time where it is known, because other programs on
 * the processors do not change its share. Sessions of managed runtimes get their names from the runtime, not from the
 * files that the warning lists, so they get no warning. */
static enum strobe_status warn_of_unnamed_code(struct job *j)
{
    uint64_t unnamed_ns, all_ns, at = 0;
    struct strobe_named_address first;
    if (strobe_names_next(&j->reader->session.names, &at, &first) && !(first.flags & STROBE_NAME_CODE))
        return STROBE_OK;
    if (!sum_unnamed_code(j, 1, &unnamed_ns, &all_ns))
        sum_unnamed_code(j, 0, &unnamed_ns, &all_ns);
    if (!unnamed_ns || unnamed_ns < all_ns / 100)
        return STROBE_OK;
    return strobe_report_warn(j->report,
                              "%.2f ms (%.1f %%) are in generated code without names; names come with node "
                              "--perf-basic-prof, java -XX:+DumpPerfMapAtExit or libperf-jvmti.so, PYTHONPERFSUPPORT=1 "
                              "(python 3.12), DOTNET_PerfMapEnabled=1",
                              (double)unnamed_ns / 1e6, 100 * (double)unnamed_ns / (double)all_ns);
}

static enum strobe_status take_features(struct strobe_report *r, const struct strobe_session *session)
{
    struct strobe_named_address note;
    enum strobe_status status = STROBE_OK;
    for (uint64_t at = 0; status == STROBE_OK && strobe_names_next_note(&session->names, &at, &note);)
        status = strobe_report_feature(r, "%.*s", (int)note.bytes, note.text);
    return status;
}

static enum strobe_status warn_of_stacks(struct strobe_report *r, const struct strobe_reader *reader)
{
    uint64_t broken = r->stacks_cut + r->stacks_doubtful;
    enum strobe_status status = STROBE_OK;
    if (broken * 20 > reader->item_count)
        status = strobe_report_warn(r,
                                    "%" PRIu64 " of %zu stacks are not whole: their methods' inclusive times are too "
                                    "small",
                                    broken, reader->item_count);
    const struct strobe_config *config = &reader->session.header->config;
    uint64_t interval_ns = config->calls & STROBE_CALLS_ONLY ? 0 : config->async_interval_ns;
    if (status == STROBE_OK && interval_ns && !r->passes && r->wall_ns / 100 > interval_ns)
        status = strobe_report_warn(r, "the sampler did not run: it found no free signal, or could make no thread");
    if (status == STROBE_OK && !r->closed && !r->exited && !reader->session.header->cause.trigger)
        status = strobe_report_warn(r, "%s", r->killed ? STROBE_REPORT_KILLED : STROBE_REPORT_NOT_ENDED);
    return status;
}

/* ---- parts of a session */

static enum strobe_status check_part(const struct job *j)
{
    const struct strobe_report_options *o = &j->report->options;
    uint64_t whole_ns = strobe_reader_span_ns(j->reader, j->reader->last_ticks - j->reader->first_ticks);
    uint32_t i = 0;
    if (o->from_ns && o->from_ns >= whole_ns) {
        strobe_error_set(j->error, "--from is behind its end: it lasts %.3f ms", (double)whole_ns / 1e6);
        return STROBE_NO_ENTRY;
    }
    while (o->thread && i < j->reader->thread_count && !strobe_is_thread(&j->reader->threads[i], o->thread))
        i++;
    if (!o->thread || i < j->reader->thread_count)
        return STROBE_OK;
    strobe_error_set(j->error, "no thread has the name or tid %s", o->thread);
    return STROBE_NO_ENTRY;
}

/* A sink in front of the adder finishes the adder too. */
static enum strobe_status build_part(struct job *j, const struct strobe_timeline_options *timeline,
                                     struct strobe_timeline_stats *shown)
{
    const struct strobe_report_options *o = &j->report->options;
    struct strobe_sink *sink = &j->adder.sink;
    struct strobe_window_stats written;
    if (o->from_ns || o->to_ns)
        sink = strobe_sink_window(sink, (struct strobe_window_times){o->from_ns, o->to_ns ? o->to_ns : UINT64_MAX},
                                  &written);
    if (sink && o->thread)
        sink = strobe_sink_threads(sink, o->thread);
    return sink ? strobe_timeline_build(j->reader, j->tree, timeline, sink, shown) : STROBE_IO;
}

static void clip(struct strobe_report *r)
{
    const struct strobe_report_options *o = &r->options;
    uint64_t end_ns = o->to_ns && o->to_ns < r->wall_ns ? o->to_ns : r->wall_ns;
    r->wall_ns = end_ns > o->from_ns ? end_ns - o->from_ns : 0;
}

/* Drops the threads without slices in the selected part. Call it after ranking, because waits refer to threads by
 * index. */
static void drop_other_threads(struct strobe_report *r)
{
    size_t kept = 0;
    if (!r->options.thread && !r->options.from_ns && !r->options.to_ns)
        return;
    for (size_t i = 0; i < r->thread_count; i++)
        if (r->threads[i].slices)
            r->threads[kept++] = r->threads[i];
    r->thread_count = kept;
}

static enum strobe_status add_allocations(struct job *j, struct strobe_allocations_by_name *by_name)
{
    const struct strobe_report_options *o = &j->report->options;
    enum strobe_status status = STROBE_OK;
    for (uint32_t i = 0; i < j->reader->thread_count && status == STROBE_OK; i++)
        if (!o->thread || strobe_is_thread(&j->reader->threads[i], o->thread))
            status = strobe_allocations_add(&j->allocations, j->reader, &j->reader->threads[i], j->tree, o->from_ns,
                                            o->to_ns ? o->to_ns : UINT64_MAX);
    j->report->allocated = j->allocations.all;
    j->report->unplaced = j->allocations.unplaced;
    return status == STROBE_OK ? strobe_allocations_by_name(&j->allocations, j->tree, by_name) : status;
}

static enum strobe_status build(struct job *j)
{
    const struct strobe_report_options *options = &j->report->options;
    struct strobe_timeline_options timeline = {
        .gap_ns = options->gap_ns, .repair = options->repair, .no_samples = !options->lines};
    struct strobe_timeline_stats shown;
    struct strobe_allocations_by_name by_name = {0};
    struct strobe_report_names names = {session_name_of, session_image_of, j, &by_name};
    unsigned symbols = options->symbols | (options->lines ? 0u : STROBE_SYMBOLS_NO_LINES);
    j->adder.sink = (struct strobe_sink){.start = report_start,
                                         .thread_begin = report_thread_begin,
                                         .slice_begin = report_slice_begin,
                                         .slice_end = report_slice_end,
                                         .wake = report_wake,
                                         .finish = report_finish,
                                         .value = report_value,
                                         .hitch = report_hitch,
                                         .mark = report_mark,
                                         .samples = options->lines ? report_samples : NULL,
                                         .cpu = report_cpu};
    enum strobe_status status =
        strobe_profile_open(&j->adder.profile, options->top ? options->top : STROBE_REPORT_WAITS_MAX);
    j->adder.profile.has_shares = 1;
    if (status == STROBE_OK)
        status = strobe_symbols_open(&j->reader->session, symbols, &j->symbols);
    if (status == STROBE_OK)
        status = strobe_function_tree_open(&j->reader->session.stacks, strobe_symbols_resolver(j->symbols), &j->tree);
    if (status == STROBE_OK)
        strobe_function_tree_show_syscalls(j->tree, report_in_syscall);
    if (status == STROBE_OK)
        status = check_part(j);
    if (status == STROBE_OK) {
        strobe_breakdown_open(&j->adder.breakdown, j->tree, options->function);
        j->adder.tree = j->tree;
        j->adder.symbols = j->symbols;
        j->adder.only = options->thread;
        status = build_part(j, &timeline, &shown);
    }
    if (status == STROBE_OK)
        status = strobe_breakdown_status(&j->adder.breakdown);
    if (status == STROBE_OK)
        status = strobe_sections_finish(&j->adder.sections, j->report);
    if (status == STROBE_OK)
        status = take_session_threads(j);
    if (status != STROBE_OK)
        return status;
    take_header(j->report, j->reader);
    clip(j->report);
    take_losses(j->report, j->reader, j->tree);
    take_call_counts(j->report, j->reader, &shown);
    strobe_process_finish(&j->adder.process, j->report);
    if (j->adder.process.place_depth)
        j->report->process.longest_in = session_name_of(j, j->adder.process.place);
    status = add_allocations(j, &by_name);
    if (status == STROBE_OK)
        status = strobe_report_rank(j->report, &j->adder.profile, &names);
    free(by_name.self);
    free(by_name.total);
    if (status == STROBE_OK)
        status = strobe_report_take_sched(j->report, j->reader);
    drop_other_threads(j->report);
    if (status == STROBE_OK)
        status = strobe_report_take_parts(j->report, &j->adder.breakdown, &j->allocations, &j->adder.lines, j->tree);
    if (status == STROBE_NO_ENTRY)
        strobe_error_set(j->error, "no function is called %s here", options->function);
    if (status == STROBE_OK)
        status = take_features(j->report, &j->reader->session);
    if (status == STROBE_OK)
        status = warn_of_images(j);
    if (status == STROBE_OK)
        status = warn_of_unnamed_code(j);
    if (status == STROBE_OK)
        status = j->report->texts.failed ? STROBE_IO : strobe_function_tree_status(j->tree);
    return status == STROBE_OK ? warn_of_stacks(j->report, j->reader) : status;
}

enum strobe_status strobe_report_session(const char *path, const struct strobe_report_options *options,
                                         struct strobe_report **out, struct strobe_error *error)
{
    struct job j = {.report = calloc(1, sizeof *j.report), .error = error};
    enum strobe_status status = STROBE_IO;
    *out = NULL;
    strobe_error_set(error, "%s", strerror(ENOMEM));
    if (j.report) {
        j.report->source = "session";
        j.report->options = *options;
        status = strobe_reader_open(path, &j.reader, error);
        if (status == STROBE_OK) {
            status = build(&j);
            if (status != STROBE_OK && status != STROBE_NO_ENTRY)
                strobe_error_set(error, "%s", strerror(ENOMEM));
        }
    }
    strobe_profile_close(&j.adder.profile);
    strobe_breakdown_close(&j.adder.breakdown);
    strobe_allocations_free(&j.allocations);
    strobe_source_lines_free(&j.adder.lines);
    strobe_sections_free(&j.adder.sections);
    strobe_function_tree_close(j.tree);
    strobe_symbols_close(j.symbols);
    strobe_reader_close(j.reader);
    if (status == STROBE_OK)
        *out = j.report;
    else
        strobe_report_close(j.report);
    return status;
}

#include "engine/base/error_format.h"
#include "engine/trace/report/report_process.h"

#include "engine/trace/import/perfetto/import_perfetto.h"
#include "engine/util/array.h"
#include "engine/util/idmap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A method of the profile is identified by its text and its class, because a sampled call has the same name as the wait
 * of its kind. */
enum { CLASSES = STROBE_SLICE_CLASS_COUNT };

struct job {
    struct strobe_report *report;
    struct strobe_profile profile;
    size_t thread_room, fact_room;
    struct strobe_idmap by_tid; /* (pid, tid) -> index in report->threads */
    uint64_t first_ns, last_ns;
    struct strobe_profile_wait *ended; /* the wait that the current event ended, if the profile keeps it */
    uint32_t woken_thread, waker_tid;  /* the thread whose next wait end has a known cause, and the waker's tid */
    enum strobe_profile_end end;
    struct strobe_process_sum process;
    struct {
        uint64_t begin_ns;
        uint32_t tid;
        enum strobe_hitch how;
        int open;
    } late; /* the turn that has not ended */
    int failed;
};

static const char *keep_trace_text(struct job *j, const char *text)
{
    const char *kept = strobe_text_keep(&j->report->texts, text, strlen(text));
    j->failed |= !kept;
    return kept ? kept : "";
}

/* Returns the class that the event's category names. Events without such a category are functions. */
static enum strobe_slice_class class_of_event(const struct strobe_import_event *e)
{
    static const char *const names[] = {
        [STROBE_SLICE_FUNCTION] = "function",       [STROBE_SLICE_WAIT] = "wait",       [STROBE_SLICE_GAP] = "gap",
        [STROBE_SLICE_PLACEHOLDER] = "placeholder", [STROBE_SLICE_OFF_CPU] = "off_cpu",
    };
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(e->category, names[i]))
            return (enum strobe_slice_class)i;
    return STROBE_SLICE_FUNCTION;
}

static void on_process(void *ctx, uint32_t pid, const char *name)
{
    struct job *j = ctx;
    if (j->report->pid)
        return;
    j->report->pid = pid;
    j->report->command = keep_trace_text(j, name);
}

static void on_thread(void *ctx, uint32_t thread, uint32_t pid, uint32_t tid, const char *name)
{
    struct job *j = ctx;
    struct strobe_report *r = j->report;
    int fresh;
    (void)thread; /* threads come in the order of their numbers, from 0 */
    if ((j->failed |= !strobe_array_reserve(&r->threads, &j->thread_room, r->thread_count + 1)))
        return;
    uint32_t *place = strobe_idmap_put(&j->by_tid, pid, tid, &fresh);
    if ((j->failed |= !place))
        return;
    *place = (uint32_t)r->thread_count;
    r->threads[r->thread_count++] =
        (struct strobe_report_thread){.name = keep_trace_text(j, name), .tid = tid, .is_main = pid == tid};
}

static void extend_range(struct job *j, uint64_t time_ns)
{
    if (time_ns < j->first_ns)
        j->first_ns = time_ns;
    if (time_ns > j->last_ns)
        j->last_ns = time_ns;
}

/* Returns the tid of a thread. Hitches identify threads by tid, because they come before the threads have numbers. */
static uint32_t tid_of(const struct job *j, uint32_t thread)
{
    return thread < j->report->thread_count ? j->report->threads[thread].tid : 0;
}

static void begin_hitch(struct job *j, const struct strobe_import_event *e)
{
    for (unsigned how = 0; how < STROBE_HITCH_COUNT; how++)
        if (!strcmp(e->name, strobe_hitch_name[how])) {
            j->late.open = 1;
            j->late.begin_ns = e->time_ns;
            j->late.how = (enum strobe_hitch)how;
        }
}

static void end_hitch(struct job *j, uint64_t time_ns)
{
    if (j->late.open)
        strobe_process_hitch(&j->process, j->late.how, j->late.begin_ns, time_ns, j->late.tid);
    j->late.open = 0;
}

static void on_counter(void *ctx, const struct strobe_import_event *e)
{
    struct job *j = ctx;
    j->ended = NULL;
    if (e->thread != STROBE_IMPORT_NO_THREAD || e->value < 0 || e->value >= 0x1p63)
        return;
    for (unsigned what = 0; what < STROBE_SERIES_COUNT; what++)
        if (!strcmp(e->name, strobe_series_name[what]))
            strobe_process_value(&j->process, (enum strobe_series)what, e->time_ns, (uint64_t)e->value);
}

static void on_begin(void *ctx, const struct strobe_import_event *e)
{
    struct job *j = ctx;
    j->ended = NULL;
    if (e->thread == STROBE_IMPORT_NO_THREAD) {
        begin_hitch(j, e);
        return;
    }
    extend_range(j, e->time_ns);
    uint32_t text = strobe_text_number(&j->report->texts, e->name, strlen(e->name));
    enum strobe_slice_class class = class_of_event(e);
    uint32_t method = text * CLASSES + class;
    if (text >= UINT32_MAX / CLASSES)
        j->failed = 1;
    else
        strobe_profile_begin(&j->profile, e->thread, method, class, e->time_ns, e->cpu_ns);
    strobe_process_slice_begin(&j->process, tid_of(j, e->thread), e->time_ns, method);
}

static void on_end(void *ctx, const struct strobe_import_event *e)
{
    struct job *j = ctx;
    if (e->thread == STROBE_IMPORT_NO_THREAD) {
        j->ended = NULL;
        end_hitch(j, e->time_ns);
        return;
    }
    extend_range(j, e->time_ns);
    strobe_process_slice_end(&j->process, tid_of(j, e->thread), e->time_ns);
    j->ended = strobe_profile_end(&j->profile, e->thread, e->time_ns, e->cpu_ns);
    if (j->ended && e->thread == j->woken_thread) {
        j->ended->end = j->end;
        j->ended->waker = j->waker_tid;
    }
    j->woken_thread = STROBE_IMPORT_NO_THREAD;
}

static void on_instant(void *ctx, const struct strobe_import_event *e)
{
    struct job *j = ctx;
    j->ended = NULL;
    int woken = !strcmp(e->name, "woken");
    if (!woken && strcmp(e->name, "no waker") != 0)
        return;
    j->woken_thread = e->thread;
    j->end = woken ? STROBE_END_UNKNOWN : STROBE_END_BY_NOBODY;
}

/* Handles a number of an event. Numbers at a wait's end belong to the wait, as does the number of the instant right
 * before it (the waker's tid). Numbers of the process's instant are facts about the recording. */
static void on_note(void *ctx, const struct strobe_import_event *e, const char *key, uint64_t value)
{
    struct job *j = ctx;
    struct strobe_report *r = j->report;
    if (j->ended && !strcmp(key, "arg"))
        j->ended->arg = value;
    if (e->thread == j->woken_thread && !strcmp(key, "thread")) {
        j->end = STROBE_END_BY_THREAD;
        j->waker_tid = (uint32_t)value;
    }
    if (j->ended && !strcmp(key, "unfinished"))
        j->ended->unfinished = value != 0;
    int of_process = e->thread == STROBE_IMPORT_NO_THREAD;
    if (of_process && e->track[0] && !strcmp(key, "thread"))
        j->late.tid = (uint32_t)value;
    if (of_process && !e->track[0] &&
        !(j->failed |= !strobe_array_reserve(&r->facts, &j->fact_room, r->fact_count + 1)))
        r->facts[r->fact_count++] = (struct strobe_report_fact){keep_trace_text(j, key), value};
    if (e->thread < r->thread_count && strstr(e->name, "samples lost"))
        r->threads[e->thread].lost += value;
}

static void on_sample(void *ctx, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
    struct job *j = ctx;
    const uint32_t *place = strobe_idmap_get(&j->by_tid, pid, tid);
    (void)time_ns;
    if (place)
        j->report->threads[*place].samples++;
}

static const char *trace_name_of(void *ctx, uint32_t method)
{
    return ((struct job *)ctx)->report->texts.texts[method / CLASSES];
}

static const char *trace_image_of(void *ctx, uint32_t method)
{
    (void)ctx, (void)method;
    return "";
}

static void take_trace_threads(struct job *j)
{
    for (size_t i = 0; i < j->report->thread_count && i < j->profile.thread_count; i++) {
        const struct strobe_profile_thread *from = &j->profile.threads[i];
        struct strobe_report_thread *to = &j->report->threads[i];
        to->wall_ns = from->last_ns - from->first_ns;
        to->cpu_ns = from->cpu_ns;
        to->wait_ns = from->wait_ns;
        to->gap_ns = from->gap_ns;
        to->off_ns = from->off_ns;
        to->slices = from->slices;
        to->waits = from->waits;
    }
}

/* Replaces the wakers' tids by thread numbers. An event with a waker may come before the waker's thread does. */
static void find_wakers(struct job *j)
{
    const struct strobe_report *r = j->report;
    for (uint32_t i = 0; i < j->profile.wait_count; i++) {
        struct strobe_profile_wait *w = &j->profile.waits[i];
        const uint32_t *place = strobe_idmap_get(&j->by_tid, r->pid, w->waker);
        if (w->end == STROBE_END_BY_THREAD)
            w->waker = place ? *place : UINT32_MAX;
    }
}

static enum strobe_status finish_trace_report(struct job *j, const struct strobe_import_stats *stats)
{
    struct strobe_report *r = j->report;
    struct strobe_report_names names = {trace_name_of, trace_image_of, j, NULL};
    bool not_closed = false;
    enum strobe_status status = strobe_profile_finish(&j->profile);
    if (status != STROBE_OK || j->failed)
        return STROBE_IO;
    take_trace_threads(j);
    find_wakers(j);
    r->begin_ns = j->first_ns <= j->last_ns ? j->first_ns : 0;
    r->wall_ns = j->first_ns <= j->last_ns ? j->last_ns - j->first_ns : 0;
    r->balanced = 1;
    strobe_process_finish(&j->process, r);
    if (j->process.place_depth)
        r->process.longest_in = trace_name_of(j, j->process.place);
    status = strobe_report_rank(r, &j->profile, &names);
    for (size_t i = 0; i < r->fact_count; i++) {
        not_closed |= !strcmp(r->facts[i].key, "closed in order") && !r->facts[i].value;
        r->exited |= !strcmp(r->facts[i].key, "exited") && r->facts[i].value;
    }
    if (status == STROBE_OK && not_closed && !r->exited)
        status = strobe_report_warn(r, STROBE_REPORT_NOT_ENDED);
    uint64_t odd = j->profile.unmatched + stats->unknown_names + stats->unstated;
    if (status == STROBE_OK && odd)
        status =
            strobe_report_warn(r,
                               "%" PRIu64 " slices do not both begin and end, %" PRIu64 " names are missing, %" PRIu64
                               " events lack what came before them: the trace is not complete",
                               j->profile.unmatched, stats->unknown_names, stats->unstated);
    if (status == STROBE_OK && stats->unknown_tracks)
        status =
            strobe_report_warn(r, "%" PRIu64 " events are on tracks of no thread: left out", stats->unknown_tracks);
    return status == STROBE_OK && r->texts.failed ? STROBE_IO : status;
}

enum strobe_status strobe_report_trace(const char *path, const struct strobe_report_options *options,
                                       struct strobe_report **out, struct strobe_error *error)
{
    static const struct strobe_import_visitor visitor = {
        .process = on_process,
        .thread = on_thread,
        .slice_begin = on_begin,
        .slice_end = on_end,
        .instant = on_instant,
        .counter = on_counter,
        .note = on_note,
        .sample = on_sample,
    };
    struct strobe_import_stats stats = {0};
    struct job j = {
        .report = calloc(1, sizeof *j.report), .first_ns = UINT64_MAX, .woken_thread = STROBE_IMPORT_NO_THREAD};
    enum strobe_status status = STROBE_IO;
    *out = NULL;
    strobe_error_set(error, "%s", strerror(ENOMEM));
    if (j.report &&
        strobe_profile_open(&j.profile, options->top ? options->top : STROBE_REPORT_WAITS_MAX) == STROBE_OK) {
        *j.report = (struct strobe_report){.source = "trace", .command = "", .exe = "", .options = *options};
        status = strobe_import_perfetto(path, &visitor, &j, &stats, error);
        if (status == STROBE_OK) {
            status = finish_trace_report(&j, &stats);
            if (status != STROBE_OK)
                strobe_error_set(error, "%s", strerror(ENOMEM));
        } else if (status == STROBE_BAD_INPUT && !stats.packets) {
            strobe_error_set(error, "not a Strobe session or a Perfetto trace");
        }
    }
    strobe_profile_close(&j.profile);
    strobe_idmap_free(&j.by_tid);
    if (status == STROBE_OK)
        *out = j.report;
    else
        strobe_report_close(j.report);
    return status;
}

#include "engine/trace/import/perf/perf_read.h"
#include "engine/base/error_format.h"

#include "engine/store/record.h"
#include "engine/trace/import/perf/perf_line.h"
#include "engine/trace/import/samples_switch.h"
#include "engine/util/array.h"
#include "engine/util/idmap.h"
#include "engine/util/text_pool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SWITCH_EVENT "sched:sched_switch"

struct tally {
    uint64_t samples, periods, with_period;
};

/* What is known of a thread. */
struct perf_thread {
    struct strobe_switches switches;
    uint64_t next_ns;   /* time of its next sample, in a text without times */
    uint64_t period_ns; /* sum of the periods of its samples */
};

/* The sample whose frames are being read. */
struct open_sample {
    struct strobe_perf_line line;
    bool is_open;
};

struct perf {
    const struct strobe_perf_options *options;
    struct strobe_sampled *out;
    struct strobe_perf_stats *stats;
    struct strobe_text_pool events; /* their numbers are indices of event_tallies */
    struct tally *event_tallies;
    size_t event_room;
    struct strobe_idmap processes; /* pid -> index of process_tallies */
    struct tally *process_tallies;
    uint32_t *pids;
    size_t process_room, pid_room;
    struct strobe_text_pool comms; /* threads of a text without tids */
    uint32_t event;                /* number of the selected one */
    bool clock;                    /* its periods are CPU time in ns */
    bool switches;                 /* the CPU time of threads follows from context switches */
    uint32_t pid;                  /* the selected process; 0 = lines do not say */
    struct perf_thread *threads;   /* by number */
    size_t thread_room;
    uint64_t *frames; /* of the open sample, innermost first */
    size_t frame_count, frame_room;
    struct open_sample sample;
    bool failed;
};

/* ---- survey: which events and processes there are */

static bool is_comment_or_empty(struct strobe_cursor line)
{
    return line.at == line.end || *line.at == '#' || (line.end - line.at == 1 && *line.at == '\r');
}

static uint32_t event_number(struct perf *p, struct strobe_cursor event)
{
    size_t before = p->events.count;
    uint32_t number = strobe_text_number(&p->events, event.at, (size_t)(event.end - event.at));
    if (number == UINT32_MAX || !strobe_array_reserve(&p->event_tallies, &p->event_room, (size_t)number + 1)) {
        p->failed = true;
        return UINT32_MAX;
    }
    if (p->events.count > before)
        p->event_tallies[number] = (struct tally){0};
    return number;
}

static void tally_process(struct perf *p, uint32_t pid)
{
    int fresh;
    uint32_t *place = strobe_array_reserve(&p->process_tallies, &p->process_room, p->processes.count + 1) &&
                              strobe_array_reserve(&p->pids, &p->pid_room, p->processes.count + 1)
                          ? strobe_idmap_put(&p->processes, pid, 0, &fresh)
                          : NULL;
    if (!place) {
        p->failed = true;
        return;
    }
    if (fresh) {
        *place = (uint32_t)p->processes.count - 1;
        p->process_tallies[*place] = (struct tally){0};
        p->pids[*place] = pid;
    }
    p->process_tallies[*place].samples++;
}

static void survey_perf_line(struct perf *p, const struct strobe_perf_line *l)
{
    if (l->record.at < l->record.end) {
        p->switches |= strobe_cursor_take(&(struct strobe_cursor){l->record.at, l->record.end}, "PERF_RECORD_SWITCH");
        return;
    }
    if (strobe_perf_event_is(l->event, SWITCH_EVENT))
        p->switches = true;
    uint32_t number = event_number(p, l->event);
    if (number == UINT32_MAX)
        return;
    struct tally *t = &p->event_tallies[number];
    t->samples++;
    if (l->has_period && l->period < UINT32_MAX) {
        t->with_period++;
        t->periods += l->period;
    }
    if (l->has_pid)
        tally_process(p, l->pid);
}

/* Returns true when the line begins a sample or is another record. A line that has a comm only begins a sample when an
 * empty line is in front of it. */
static bool takes_perf_line(struct strobe_cursor line, bool after_empty, struct strobe_perf_line *out)
{
    return *line.at != '\t' &&
           (strobe_perf_take_line(line, out) || (after_empty && *line.at != ' ' && out->comm.at < out->comm.end));
}

static void survey_perf(struct perf *p, struct strobe_cursor text)
{
    struct strobe_cursor line;
    struct strobe_perf_line l;
    bool after_empty = true;
    while (!p->failed && strobe_cursor_take_line(&text, &line)) {
        bool empty = is_comment_or_empty(line);
        if (!empty && takes_perf_line(line, after_empty, &l))
            survey_perf_line(p, &l);
        after_empty = empty;
    }
}

static bool is_switch_event(const struct perf *p, size_t number)
{
    const char *text = p->events.texts[number];
    return strobe_perf_event_is(strobe_cursor(text, strlen(text)), SWITCH_EVENT);
}

/* Selects the event. Returns false when there is none. */
static bool select_event(struct perf *p)
{
    const char *wanted = p->options->event;
    bool found = false;
    for (size_t i = 0; i < p->events.count; i++) {
        const char *text = p->events.texts[i];
        struct strobe_cursor event = strobe_cursor(text, strlen(text));
        bool fits = wanted ? !strcmp(text, wanted) || strobe_perf_event_is(event, wanted) : true;
        bool better = !found || (is_switch_event(p, p->event) && !is_switch_event(p, i)) ||
                      (p->event_tallies[i].samples > p->event_tallies[p->event].samples &&
                       (!is_switch_event(p, i) || is_switch_event(p, p->event)));
        if (!fits || !better)
            continue;
        p->event = (uint32_t)i;
        found = true;
    }
    if (!found)
        return false;
    const char *text = p->events.texts[p->event];
    struct strobe_cursor event = strobe_cursor(text, strlen(text));
    const struct tally *t = &p->event_tallies[p->event];
    snprintf(p->stats->event, sizeof p->stats->event, "%s", text);
    p->clock = (strobe_perf_event_is(event, "task-clock") || strobe_perf_event_is(event, "cpu-clock")) &&
               t->with_period == t->samples && t->periods;
    if (p->clock)
        strobe_sampled_interval(p->out, t->periods / t->samples, t->periods / t->samples);
    return true;
}

static bool select_process(struct perf *p)
{
    uint32_t best = UINT32_MAX;
    for (size_t i = 0; i < p->processes.count; i++) {
        if (p->options->pid ? p->pids[i] == p->options->pid
                            : best == UINT32_MAX || p->process_tallies[i].samples > p->process_tallies[best].samples)
            best = (uint32_t)i;
    }
    p->pid = best == UINT32_MAX ? 0 : p->pids[best];
    return !p->processes.count || best != UINT32_MAX;
}

/* ---- threads */

/* Returns the thread of a line. NULL: out of memory. Its place is valid until the next call. */
static struct perf_thread *thread_of_line(struct perf *p, const struct strobe_perf_line *l, uint32_t *number)
{
    size_t bytes = (size_t)(l->comm.end - l->comm.at);
    uint32_t tid = l->tid;
    if (!l->has_tid) {
        uint32_t text = strobe_text_number(&p->comms, l->comm.at, bytes);
        tid = text == UINT32_MAX ? 0 : text + 1;
    }
    size_t before = strobe_sampled_threads(p->out);
    *number = strobe_sampled_thread(p->out, tid);
    if (*number == STROBE_SAMPLED_NO_THREAD ||
        !strobe_array_reserve_zeroed(&p->threads, &p->thread_room, (size_t)*number + 1)) {
        p->failed |= *number != STROBE_SAMPLED_NO_THREAD;
        return NULL;
    }
    if (bytes)
        strobe_sampled_rename(p->out, *number, l->comm.at, bytes);
    if (!before)
        strobe_sampled_process(p->out, p->pid ? p->pid : tid, p->pid ? p->pid : tid, "");
    return &p->threads[*number];
}

static struct perf_thread *thread_of_tid(struct perf *p, uint32_t tid, uint32_t *number)
{
    struct strobe_perf_line l = {.has_tid = true, .tid = tid};
    return thread_of_line(p, &l, number);
}

/* ---- context switches */

static void add_point(struct perf *p, const struct strobe_sampled_point *point)
{
    if (!strobe_sampled_point(p->out, point))
        p->stats->refused++;
}

/* Takes the number behind `key` in a tracepoint's text. */
static bool take_number_behind(struct strobe_cursor text, const char *key, uint64_t *out)
{
    for (; text.at < text.end; text.at++) {
        struct strobe_cursor here = text;
        if (strobe_cursor_take(&here, key))
            return strobe_cursor_take_number(&here, UINT32_MAX - 1, out);
    }
    return false;
}

static bool has_text(struct strobe_cursor text, const char *what)
{
    for (; text.at < text.end; text.at++)
        if (strobe_cursor_take(&(struct strobe_cursor){text.at, text.end}, what))
            return true;
    return false;
}

/* A sample of sched_switch: the line's thread leaves, another one comes. */
static void take_switch_event(struct perf *p, const struct strobe_perf_line *l, struct strobe_sampled_stack stack)
{
    uint32_t number;
    uint64_t next = 0;
    struct perf_thread *t = thread_of_line(p, l, &number);
    if (!t || !l->has_time)
        return;
    p->stats->switches++;
    bool runs = has_text(l->rest, "prev_state=R") || has_text(l->rest, " R ==>");
    strobe_switch_out(&t->switches, l->time_ns, runs, stack);
    if (take_number_behind(l->rest, "next_pid=", &next) && next && (t = thread_of_tid(p, (uint32_t)next, &number)))
        p->stats->refused += strobe_switch_in(&t->switches, p->out, number, l->time_ns);
}

/* ---- other records */

/* Takes "(PID:TID)". */
static bool take_pid_and_tid(struct strobe_cursor text, char between, uint32_t *pid, uint32_t *tid)
{
    uint64_t first, second;
    char mark[2] = {between, 0};
    if (!strobe_cursor_take_number(&text, UINT32_MAX - 1, &first) || !strobe_cursor_take(&text, mark) ||
        !strobe_cursor_take_number(&text, UINT32_MAX - 1, &second))
        return false;
    *pid = (uint32_t)first;
    *tid = (uint32_t)second;
    return true;
}

/* PERF_RECORD_COMM: NAME:PID/TID, the name may contain anything */
static void take_comm(struct perf *p, struct strobe_cursor text)
{
    uint32_t pid, tid, number;
    const char *colon = text.end;
    while (text.at < text.end && *text.at != ':')
        text.at++;
    text.at += text.at < text.end;
    strobe_cursor_skip_blanks(&text);
    while (colon > text.at && colon[-1] != ':')
        colon--;
    if (colon == text.at || !take_pid_and_tid((struct strobe_cursor){colon, text.end}, '/', &pid, &tid) ||
        (p->pid && pid != p->pid))
        return;
    struct perf_thread *t = thread_of_tid(p, tid, &number);
    if (t)
        strobe_sampled_rename(p->out, number, text.at, (size_t)(colon - 1 - text.at));
}

static void take_exit(struct perf *p, struct strobe_cursor text, const struct strobe_perf_line *l)
{
    uint32_t pid, tid, number;
    if (!take_pid_and_tid(text, ':', &pid, &tid) || (p->pid && pid != p->pid) || !l->has_time)
        return;
    struct perf_thread *t = thread_of_tid(p, tid, &number);
    if (!t)
        return;
    *t = (struct perf_thread){0};
    strobe_sampled_thread_end(p->out, number, l->time_ns);
}

static void take_switch_record(struct perf *p, struct strobe_cursor text, const struct strobe_perf_line *l)
{
    uint32_t number;
    struct perf_thread *t = l->has_tid && l->tid && l->has_time ? thread_of_line(p, l, &number) : NULL;
    if (!t)
        return;
    p->stats->switches++;
    if (has_text(text, "IN"))
        p->stats->refused += strobe_switch_in(&t->switches, p->out, number, l->time_ns);
    else
        strobe_switch_out(&t->switches, l->time_ns, has_text(text, "preempt"), (struct strobe_sampled_stack){0, false});
}

static void take_perf_record(struct perf *p, const struct strobe_perf_line *l)
{
    struct strobe_cursor text = l->record;
    uint64_t lost;
    if (strobe_cursor_take(&text, "PERF_RECORD_COMM"))
        take_comm(p, text);
    else if (strobe_cursor_take(&text, "PERF_RECORD_EXIT("))
        take_exit(p, text, l);
    else if (strobe_cursor_take(&text, "PERF_RECORD_SWITCH"))
        take_switch_record(p, text, l);
    else if (strobe_cursor_take(&text, "PERF_RECORD_LOST lost ") && strobe_cursor_take_number(&text, UINT32_MAX, &lost))
        p->stats->lost += lost;
    else
        p->stats->records++;
}

/* ---- samples */

static uint64_t function_of_frame(struct perf *p, const struct strobe_perf_frame *f)
{
    size_t dso_bytes = (size_t)(f->dso.end - f->dso.at), bytes = (size_t)(f->symbol.end - f->symbol.at);
    uint32_t image = strobe_sampled_image(p->out, f->dso.at, dso_bytes);
    char text[128];
    if (bytes)
        return strobe_sampled_function(p->out, image, f->symbol.at, bytes);
    const char *name = f->dso.end;
    while (name > f->dso.at && name[-1] != '/')
        name--;
    if (dso_bytes && *f->dso.at == '[')
        snprintf(text, sizeof text, "%.*s", (int)dso_bytes, f->dso.at);
    else if (dso_bytes)
        snprintf(text, sizeof text, "[%.*s]", (int)(f->dso.end - name), name);
    else
        snprintf(text, sizeof text, "[unknown]");
    return strobe_sampled_function(p->out, image, text, strlen(text));
}

static void add_perf_frame(struct perf *p, struct strobe_cursor text)
{
    struct strobe_perf_frame f;
    if (!strobe_perf_take_frame(text, &f))
        return;
    /* The walk ended at an address that is none. */
    if (f.symbol.at == f.symbol.end && f.dso.at == f.dso.end && p->frame_count)
        return;
    if (!strobe_array_reserve(&p->frames, &p->frame_room, p->frame_count + 1)) {
        p->failed = true;
        return;
    }
    p->frames[p->frame_count++] = function_of_frame(p, &f);
}

static struct strobe_sampled_stack stack_of_sample(struct perf *p)
{
    for (size_t i = 0, k = p->frame_count; i + 1 < k; i++, k--) {
        uint64_t frame = p->frames[i];
        p->frames[i] = p->frames[k - 1];
        p->frames[k - 1] = frame;
    }
    return strobe_sampled_stack(p->out, p->frames, p->frame_count);
}

static void add_perf_sample(struct perf *p, const struct strobe_perf_line *l, struct strobe_sampled_stack stack)
{
    uint32_t number;
    struct perf_thread *t = thread_of_line(p, l, &number);
    if (!t)
        return;
    struct strobe_sampled_point point = {
        .cpu_ns = STROBE_SAMPLED_CPU_UNKNOWN, .stack = stack, .thread = number, .count = 1};
    point.first_ns = point.last_ns = l->has_time ? l->time_ns : t->next_ns;
    t->next_ns += p->options->interval_ns;
    t->period_ns += l->has_period ? l->period : 0;
    point.kind = p->clock ? STROBE_KIND_CPU : STROBE_KIND_ASYNC;
    if (p->switches)
        point.cpu_ns = strobe_switch_cpu(&t->switches, l->time_ns);
    else if (p->clock)
        point.cpu_ns = t->period_ns;
    if (p->clock && (!p->switches || t->switches.gave_way))
        point.flags = STROBE_FLAG_GAVE_WAY;
    t->switches.gave_way = false;
    p->stats->samples++;
    p->stats->without_time |= !l->has_time;
    add_point(p, &point);
}

/* Adds the open sample, when it is of the selected event. */
static void close_sample(struct perf *p)
{
    const struct strobe_perf_line *l = &p->sample.line;
    if (!p->sample.is_open)
        return;
    p->sample.is_open = false;
    struct strobe_sampled_stack stack = stack_of_sample(p);
    p->frame_count = 0;
    if (strobe_perf_event_is(l->event, SWITCH_EVENT))
        take_switch_event(p, l, stack);
    else if (event_number(p, l->event) == p->event)
        add_perf_sample(p, l, stack);
    else
        p->stats->other_events++;
}

static void open_sample(struct perf *p, const struct strobe_perf_line *l)
{
    struct strobe_cursor rest = l->rest;
    uint64_t ip;
    close_sample(p);
    if (p->pid && l->has_pid && l->pid != p->pid) {
        p->stats->other_processes += l->record.at == l->record.end;
        return;
    }
    if (l->record.at < l->record.end) {
        take_perf_record(p, l);
        return;
    }
    p->sample = (struct open_sample){*l, true};
    if (strobe_cursor_take_hex(&rest, &ip) && (rest.at == rest.end || *rest.at == ' '))
        add_perf_frame(p, l->rest);
}

static void read_perf_line(struct perf *p, struct strobe_cursor line, bool after_empty)
{
    struct strobe_perf_line l;
    if (takes_perf_line(line, after_empty, &l))
        open_sample(p, &l);
    else if (*line.at == '\t' && p->sample.is_open)
        add_perf_frame(p, line);
    else if (*line.at != ' ' && *line.at != '\t') /* others are lines of sources, and frames of what is left out */
        p->stats->first_unknown = p->stats->unknown++ ? p->stats->first_unknown : p->stats->lines;
}

static enum strobe_status read_perf(struct perf *p, struct strobe_cursor text, struct strobe_error *error)
{
    struct strobe_cursor line;
    bool after_empty = true;
    survey_perf(p, text);
    if (p->failed)
        return STROBE_IO;
    if (!select_event(p)) {
        if (p->options->event && p->events.count)
            strobe_error_set(error, "no sample of the event %s; most are of %s", p->options->event, p->events.texts[0]);
        else
            strobe_error_set(error, "line 1: expected the text of `perf script`, such as `xz 71 [001] 4.5: cycles:`");
        return STROBE_BAD_INPUT;
    }
    if (!select_process(p)) {
        strobe_error_set(error, "no sample of process %" PRIu32 "; the first is of %" PRIu32, p->options->pid,
                         p->pids[0]);
        return STROBE_BAD_INPUT;
    }
    while (!p->failed && strobe_cursor_take_line(&text, &line)) {
        bool empty = is_comment_or_empty(line);
        p->stats->lines++;
        if (empty)
            close_sample(p);
        else
            read_perf_line(p, line, after_empty);
        after_empty = empty;
    }
    close_sample(p);
    if (p->stats->without_time)
        strobe_sampled_interval(p->out, p->options->interval_ns, p->clock ? p->options->interval_ns : 0);
    return p->failed ? STROBE_IO : STROBE_OK;
}

enum strobe_status strobe_perf_read(const char *text, size_t bytes, const struct strobe_perf_options *options,
                                    struct strobe_sampled *out, struct strobe_perf_stats *stats,
                                    struct strobe_error *error)
{
    *stats = (struct strobe_perf_stats){0};
    struct perf p = {.options = options, .out = out, .stats = stats};
    enum strobe_status status = read_perf(&p, strobe_cursor(text, bytes), error);
    strobe_text_pool_free(&p.events);
    strobe_text_pool_free(&p.comms);
    strobe_idmap_free(&p.processes);
    free(p.event_tallies);
    free(p.process_tallies);
    free(p.pids);
    free(p.threads);
    free(p.frames);
    return status;
}

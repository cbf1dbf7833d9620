#include "engine/trace/export/sinks.h"

#include <stdlib.h>

struct chrome {
    struct strobe_sink sink;
    struct strobe_outfile *out;
    const struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    uint32_t pid, tid;
    int knows_cpu;      /* the threads' CPU times are known */
    int started;        /* an event has been written */
    int open;           /* processes started so far */
    uint64_t flow_base; /* ids of the process's flows are greater */
    uint64_t flow_last; /* the greatest id of a flow written so far */
};

static const char *const class_name[] = {
    [STROBE_SLICE_FUNCTION] = "function",       [STROBE_SLICE_WAIT] = "wait",       [STROBE_SLICE_GAP] = "gap",
    [STROBE_SLICE_PLACEHOLDER] = "placeholder", [STROBE_SLICE_OFF_CPU] = "off_cpu",
};
static const char *const counter_name[STROBE_COUNTER_COUNT] = {
    [STROBE_COUNTER_ALLOC_BYTES] = "alloc bytes",   [STROBE_COUNTER_ALLOCS] = "allocs",
    [STROBE_COUNTER_MINOR_FAULTS] = "minor faults", [STROBE_COUNTER_MAJOR_FAULTS] = "major faults",
    [STROBE_COUNTER_SWITCHES] = "switches",         [STROBE_COUNTER_PREEMPTIONS] = "preemptions",
};

/* Writes an event up to its name's value. */
static void open_event(struct chrome *c, const char *phase, uint32_t tid)
{
    strobe_outfile_text(c->out, c->started ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    strobe_outfile_text(c->out, phase);
    strobe_outfile_text(c->out, "\",\"pid\":");
    strobe_outfile_number(c->out, c->pid);
    strobe_outfile_text(c->out, ",\"tid\":");
    strobe_outfile_number(c->out, tid);
    strobe_outfile_text(c->out, ",\"name\":\"");
    c->started = 1;
}

static void write_time(struct chrome *c, const char *key, uint64_t ns)
{
    strobe_outfile_text(c->out, key);
    strobe_outfile_us(c->out, ns);
}

static void name_track(struct chrome *c, const char *what, uint32_t tid, const char *name)
{
    open_event(c, "M", tid);
    strobe_outfile_text(c->out, what);
    strobe_outfile_text(c->out, "\",\"args\":{\"name\":\"");
    strobe_outfile_json(c->out, name);
    strobe_outfile_text(c->out, "\"}}");
}

static void chrome_start(struct strobe_sink *sink, const struct strobe_reader *reader,
                         struct strobe_function_tree *tree)
{
    struct chrome *c = (struct chrome *)sink;
    c->reader = reader;
    c->tree = tree;
    c->pid = reader->session.header->pid;
    c->knows_cpu = reader->session.header->version != 0;
    if (!c->open++)
        strobe_outfile_text(c->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    c->flow_base = c->flow_last;
    const char *exe = reader->session.header->exe;
    name_track(c, "process_name", c->pid, exe[0] ? exe : "program");
}

static void chrome_thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *t)
{
    struct chrome *c = (struct chrome *)sink;
    c->tid = t->tid;
    name_track(c, "thread_name", t->tid, t->name);
}

static void chrome_slice_begin(struct strobe_sink *sink, const struct strobe_slice *s)
{
    struct chrome *c = (struct chrome *)sink;
    open_event(c, "B", c->tid);
    strobe_outfile_json(c->out, strobe_function_tree_name(c->tree, s->name)->text);
    strobe_outfile_text(c->out, "\",\"cat\":\"");
    strobe_outfile_text(c->out, class_name[s->class]);
    write_time(c, "\",\"ts\":", s->begin.time_ns);
    if (c->knows_cpu)
        write_time(c, ",\"tts\":", s->begin.cpu_ns);
    strobe_outfile_text(c->out, "}");
}

static void argument(struct chrome *c, int *count, const char *key, uint64_t value)
{
    if (!value)
        return;
    strobe_outfile_text(c->out, (*count)++ ? ",\"" : ",\"args\":{\"");
    strobe_outfile_json(c->out, key);
    strobe_outfile_text(c->out, "\":");
    strobe_outfile_number(c->out, value);
}

static void chrome_slice_end(struct strobe_sink *sink, const struct strobe_slice *s, const struct strobe_moment *now)
{
    struct chrome *c = (struct chrome *)sink;
    int count = 0;
    open_event(c, "E", c->tid);
    strobe_outfile_json(c->out, strobe_function_tree_name(c->tree, s->name)->text);
    write_time(c, "\",\"ts\":", now->time_ns);
    if (c->knows_cpu)
        write_time(c, ",\"tts\":", now->cpu_ns);
    argument(c, &count, "samples", s->samples > 1 ? s->samples : 0);
    argument(c, &count, "arg", s->arg);
    argument(c, &count, "unfinished", (uint64_t)s->unfinished);
    for (unsigned i = 0; i < STROBE_COUNTER_COUNT; i++)
        argument(c, &count, counter_name[i], now->counter[i] - s->begin.counter[i]);
    strobe_outfile_text(c->out, count ? "}}" : "}");
}

static void chrome_instant(struct strobe_sink *sink, uint64_t time_ns, const char *name,
                           const struct strobe_note *notes, size_t note_count)
{
    struct chrome *c = (struct chrome *)sink;
    int count = 0;
    open_event(c, "i", c->tid);
    strobe_outfile_json(c->out, name);
    write_time(c, "\",\"s\":\"t\",\"ts\":", time_ns);
    for (size_t i = 0; i < note_count; i++)
        argument(c, &count, notes[i].key, notes[i].value);
    strobe_outfile_text(c->out, count ? "}}" : "}");
}

/* Writes a flow event: from the waker's slice at that time to the wait, to which the end binds (bp e). */
static void chrome_wake(struct strobe_sink *sink, const struct strobe_wake_flow *f)
{
    struct chrome *c = (struct chrome *)sink;
    if (f->waker == STROBE_NO_THREAD)
        return;
    uint64_t id = c->flow_base + f->id;
    c->flow_last = id > c->flow_last ? id : c->flow_last;
    open_event(c, f->at_waker ? "s" : "f", c->tid);
    strobe_outfile_text(c->out, "wake\",\"cat\":\"wake\",\"id\":");
    strobe_outfile_number(c->out, id);
    write_time(c, f->at_waker ? ",\"ts\":" : ",\"bp\":\"e\",\"ts\":", f->time_ns);
    strobe_outfile_text(c->out, "}");
}

/* Values belong to the process. */
static void chrome_value(struct strobe_sink *sink, const struct strobe_value *v)
{
    struct chrome *c = (struct chrome *)sink;
    open_event(c, "C", c->pid);
    strobe_outfile_text(c->out, strobe_series_name[v->what]);
    write_time(c, "\",\"ts\":", v->time_ns);
    strobe_outfile_text(c->out, ",\"args\":{\"value\":");
    strobe_outfile_number(c->out, v->value);
    strobe_outfile_text(c->out, "}}");
}

/* A hitch is an instant of the process at the hitch's begin: a slice would lie among the slices of a thread. */
static void chrome_hitch(struct strobe_sink *sink, const struct strobe_late *l)
{
    struct chrome *c = (struct chrome *)sink;
    uint32_t tid = c->reader->threads[l->thread].tid;
    open_event(c, "i", tid);
    strobe_outfile_text(c->out, strobe_hitch_name[l->how]);
    write_time(c, "\",\"s\":\"p\",\"ts\":", l->begin_ns);
    strobe_outfile_text(c->out, ",\"args\":{\"duration us\":");
    strobe_outfile_us(c->out, l->end_ns - l->begin_ns);
    if (l->node) {
        strobe_outfile_text(c->out, ",\"in\":\"");
        strobe_outfile_json(
            c->out, strobe_function_tree_name(c->tree, strobe_function_tree_node(c->tree, l->node)->name)->text);
        strobe_outfile_text(c->out, "\"");
    }
    strobe_outfile_text(c->out, "}}");
}

/* A mark with notes (a finding) is an instant of the process at its begin, as hitches are. */
static void write_finding(struct chrome *c, const struct strobe_mark *m)
{
    open_event(c, "i", c->pid);
    strobe_outfile_json(c->out, m->name);
    strobe_outfile_text(c->out, "\",\"cat\":\"");
    strobe_outfile_json(c->out, m->lane);
    write_time(c, "\",\"s\":\"p\",\"ts\":", m->begin_ns);
    strobe_outfile_text(c->out, ",\"args\":{\"duration us\":");
    strobe_outfile_us(c->out, m->end_ns - m->begin_ns);
    for (size_t i = 0; i < m->note_count; i++) {
        strobe_outfile_text(c->out, ",\"");
        strobe_outfile_json(c->out, m->notes[i].key);
        strobe_outfile_text(c->out, "\":\"");
        strobe_outfile_json(c->out, m->notes[i].text);
        strobe_outfile_text(c->out, "\"");
    }
    strobe_outfile_text(c->out, "}}");
}

/* Names of colors that Chrome's viewer knows. */
static void write_color(struct chrome *c, const struct strobe_mark *m)
{
    static const char *const colors[] = {"generic_work",  "good",           "yellow",    "olive",
                                         "rail_response", "rail_animation", "rail_load", "startup"};
    size_t bytes, sum = 0;
    const char *category = strobe_mark_category(m, &bytes);
    if (!bytes)
        return;
    for (size_t i = 0; i < bytes; i++)
        sum = sum * 31 + (unsigned char)category[i];
    strobe_outfile_text(c->out, ",\"cname\":\"");
    strobe_outfile_text(c->out, colors[sum % (sizeof colors / sizeof *colors)]);
    strobe_outfile_text(c->out, "\"");
}

/* A counter is identified by its name, and one of a thread also by an id, the thread's. An asynchronous slice is
 * identified by its name and an id, which is its track.
 */
static void chrome_mark(struct strobe_sink *sink, const struct strobe_mark *m)
{
    struct chrome *c = (struct chrome *)sink;
    if (m->lane && m->notes) {
        write_finding(c, m);
        return;
    }
    if (m->is_counter) {
        open_event(c, "C", c->pid);
        strobe_outfile_json(c->out, m->name);
        strobe_outfile_text(c->out, "\"");
        if (m->thread) {
            strobe_outfile_text(c->out, ",\"id\":");
            strobe_outfile_number(c->out, m->thread->tid);
        }
        write_time(c, ",\"ts\":", m->begin_ns);
        strobe_outfile_text(c->out, m->value < 0 ? ",\"args\":{\"value\":-" : ",\"args\":{\"value\":");
        strobe_outfile_number(c->out, m->value < 0 ? 0 - (uint64_t)m->value : (uint64_t)m->value);
        strobe_outfile_text(c->out, "}}");
        return;
    }
    for (int end = 0; end < 2; end++) {
        open_event(c, end ? "e" : "b", c->pid);
        strobe_outfile_json(c->out, m->name);
        strobe_outfile_text(c->out, "\",\"cat\":\"");
        strobe_outfile_json(c->out, m->lane ? m->lane : "async");
        strobe_outfile_text(c->out, "\",\"id\":");
        strobe_outfile_number(c->out, m->track);
        write_color(c, m);
        write_time(c, ",\"ts\":", end ? m->end_ns : m->begin_ns);
        strobe_outfile_text(c->out, "}");
    }
}

static enum strobe_status chrome_finish(struct strobe_sink *sink)
{
    struct chrome *c = (struct chrome *)sink;
    strobe_outfile_text(c->out, "\n]}\n");
    free(c);
    return STROBE_OK;
}

struct strobe_sink *strobe_sink_chrome(struct strobe_outfile *out)
{
    struct chrome *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->sink = (struct strobe_sink){.start = chrome_start,
                                   .thread_begin = chrome_thread_begin,
                                   .slice_begin = chrome_slice_begin,
                                   .slice_end = chrome_slice_end,
                                   .instant = chrome_instant,
                                   .wake = chrome_wake,
                                   .finish = chrome_finish,
                                   .value = chrome_value,
                                   .hitch = chrome_hitch,
                                   .mark = chrome_mark};
    c->out = out;
    return &c->sink;
}

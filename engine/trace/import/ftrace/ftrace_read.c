/* First pass: reads the lines and assigns each to its thread. The meaning of markers depends on all lines (are they
 * RheaTrace's? which process?), so a second pass over the events in memory resolves them. */
#include "engine/trace/import/ftrace/ftrace_read.h"
#include "engine/base/error_format.h"

#include "engine/trace/import/ftrace/ftrace_line.h"
#include "engine/util/array.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CACHE = 1024,     /* a power of two */
    IOS_MAX = 1024,   /* reads and writes in progress; beyond that, the oldest is dropped */
    OWN_END = 0x8000, /* a flag of BEGINs until the second pass: an END with the same name follows */
};

typedef struct strobe_ftrace_text text;

/* The process and number of markers of a thread; same index as the thread. */
struct thread_marks {
    uint32_t pid;
    bool pid_by_mark;
    uint64_t marks;
};

/* A read or write of a file that is in progress. */
struct io {
    uint64_t inode, offset;
    uint32_t write, thread, name;
};

struct import {
    struct strobe_calls *calls;
    struct strobe_ftrace_stats *stats;
    struct strobe_ftrace_kinds *left_out; /* NULL = not wanted */
    struct thread_marks *thread_marks;
    size_t thread_marks_room;
    struct {
        uint32_t tid, thread;
    } cache[CACHE]; /* by tid: thread + 1 */
    struct io ios[IOS_MAX];
    size_t io_count;
    uint64_t headed; /* lines in ftrace's form */
    bool rhea_seen;  /* there was an E: or T: marker */
    bool failed;
};

/* ---- threads */

/* Sets the thread's name to the task's. The name "<...>" means unknown and is ignored. */
static void name_thread(struct strobe_calls_thread *t, text task)
{
    if (!task.bytes || (task.bytes == 5 && !memcmp(task.at, "<...>", 5)))
        return;
    size_t bytes = task.bytes < sizeof t->name ? task.bytes : sizeof t->name - 1;
    if (!memcmp(t->name, task.at, bytes) && !t->name[bytes])
        return;
    memcpy(t->name, task.at, bytes);
    t->name[bytes] = 0;
}

static bool thread_of(struct import *m, const struct strobe_ftrace_line *line, uint32_t *out)
{
    unsigned slot = line->tid & (CACHE - 1);
    if (!m->cache[slot].thread || m->cache[slot].tid != line->tid) {
        size_t before = m->calls->thread_count;
        uint32_t thread = strobe_calls_thread(m->calls, line->tid);
        if (m->calls->failed ||
            (m->failed |= !strobe_array_reserve(&m->thread_marks, &m->thread_marks_room, (size_t)thread + 1)))
            return false;
        if (thread >= before)
            m->thread_marks[thread] = (struct thread_marks){0};
        m->cache[slot].tid = line->tid;
        m->cache[slot].thread = thread + 1;
    }
    *out = m->cache[slot].thread - 1;
    name_thread(&m->calls->threads[*out], line->task);
    if (!m->thread_marks[*out].pid && line->tgid)
        m->thread_marks[*out].pid = line->tgid;
    return true;
}

/* ---- markers */

/* Removes the text up to the next `|` from `rest`. Returns false if there is none; the text is then all of `rest`. */
static bool take_field(text *rest, text *out)
{
    const char *bar = rest->bytes ? memchr(rest->at, '|', rest->bytes) : NULL;
    out->at = rest->at;
    out->bytes = bar ? (size_t)(bar - rest->at) : rest->bytes;
    size_t used = bar ? out->bytes + 1 : rest->bytes;
    rest->at += used;
    rest->bytes -= used;
    return bar != NULL;
}

/* Splits `name|number`. The name may contain bars. */
static bool last_number(text rest, text *name, int64_t *number)
{
    const char *bar = rest.bytes ? memrchr(rest.at, '|', rest.bytes) : NULL;
    if (!bar)
        return false;
    text digits = {bar + 1, (size_t)(rest.at + rest.bytes - bar - 1)};
    bool minus = digits.bytes && *digits.at == '-';
    uint64_t n;
    digits.at += minus;
    digits.bytes -= minus;
    if (!strobe_ftrace_number(digits, (uint64_t)INT64_MAX + minus, &n))
        return false;
    *number = minus ? (int64_t)(0 - n) : (int64_t)n;
    *name = (text){rest.at, (size_t)(bar - rest.at)};
    return name->bytes != 0;
}

enum verdict { TAKEN, IGNORED, BROKEN };

/* Adds a marker of a thread to its calls. */
static void add_mark_event(struct import *m, uint32_t thread, char kind, uint64_t time_ns, text name, int64_t value)
{
    static const struct {
        char kind;
        enum strobe_call_mark_kind is;
    } marks[] = {{'C', STROBE_MARK_COUNTER},
                 {'S', STROBE_MARK_ASYNC_BEGIN},
                 {'F', STROBE_MARK_ASYNC_END},
                 {'I', STROBE_MARK_INSTANT}};
    uint32_t number = strobe_calls_name(m->calls, name.at, name.bytes);
    if (kind == 'B') {
        strobe_calls_add(m->calls, thread, STROBE_CALL_BEGIN, time_ns, number);
        m->rhea_seen |= name.bytes > 2 && name.at[1] == ':' && (name.at[0] == 'E' || name.at[0] == 'T');
    }
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (marks[i].kind == kind)
            strobe_calls_mark(m->calls, thread, marks[i].is, time_ns, number, value);
}

static enum verdict read_mark(struct import *m, const struct strobe_ftrace_line *line, text payload)
{
    text rest = payload, kind, pid_text, name;
    uint64_t pid = 0;
    int64_t value = 0;
    uint32_t thread;
    bool more = take_field(&rest, &kind);
    if (kind.bytes != 1 || !strchr("BECSFI", *kind.at))
        return IGNORED;
    bool ends = *kind.at == 'E';
    more = take_field(&rest, &pid_text) && more;
    if (pid_text.bytes ? !strobe_ftrace_number(pid_text, UINT32_MAX, &pid) : !ends)
        return BROKEN;
    if (!ends && (!more || !rest.bytes))
        return BROKEN;
    name = rest;
    if (strchr("CSF", *kind.at) && !last_number(rest, &name, &value))
        return BROKEN;
    if (!thread_of(m, line, &thread))
        return IGNORED;
    struct thread_marks *t = &m->thread_marks[thread];
    if (pid && !t->pid_by_mark) {
        t->pid = (uint32_t)pid;
        t->pid_by_mark = true;
    }
    t->marks++;
    if (ends)
        strobe_calls_add(m->calls, thread, STROBE_CALL_END, line->time_ns, STROBE_CALL_ANY);
    else
        add_mark_event(m, thread, *kind.at, line->time_ns, name, value);
    return TAKEN;
}

/* ---- reads and writes of files */

/* Reads the number behind the last occurrence of `key`. */
static bool number_after(text in, const char *key, uint64_t *out, const char **where)
{
    size_t key_bytes = strlen(key);
    for (const char *p = in.at + in.bytes; (size_t)(p - in.at) >= key_bytes; p--) {
        if (memcmp(p - key_bytes, key, key_bytes))
            continue;
        text digits = {p, 0};
        while (p + digits.bytes < in.at + in.bytes && p[digits.bytes] >= '0' && p[digits.bytes] <= '9')
            digits.bytes++;
        *where = p - key_bytes;
        return strobe_ftrace_number(digits, UINT64_MAX, out);
    }
    return false;
}

static void drop_io(struct import *m, size_t i)
{
    memmove(&m->ios[i], &m->ios[i + 1], (--m->io_count - i) * sizeof *m->ios);
}

/* Reads: entry_name FILE, offset N, bytes N, cmdline C, pid N, i_size N, ino N */
static enum verdict io_begin(struct import *m, const struct strobe_ftrace_line *line, bool write)
{
    static const char first[] = "entry_name ";
    const size_t first_bytes = sizeof first - 1;
    struct io io = {.write = write};
    text p = line->payload;
    uint64_t size;
    const char *where, *ignored;
    if (p.bytes < first_bytes || memcmp(p.at, first, first_bytes) || !number_after(p, ", ino ", &io.inode, &ignored) ||
        !number_after(p, ", offset ", &io.offset, &where) || where < p.at + first_bytes ||
        !number_after((text){where, (size_t)(p.at + p.bytes - where)}, ", bytes ", &size, &ignored))
        return BROKEN;
    text file = {p.at + first_bytes, (size_t)(where - p.at) - first_bytes};
    char label[PATH_MAX + 100];
    int n = snprintf(label, sizeof label, "%s: %.*s,offset: %" PRIu64 ", size: %" PRIu64, write ? "write" : "read",
                     (int)(file.bytes < PATH_MAX ? file.bytes : PATH_MAX), file.at, io.offset, size);
    if (!thread_of(m, line, &io.thread))
        return IGNORED;
    io.name = strobe_calls_name(m->calls, label, (size_t)n);
    if (m->io_count == IOS_MAX)
        drop_io(m, 0);
    m->ios[m->io_count++] = io;
    strobe_calls_add(m->calls, io.thread, STROBE_CALL_BEGIN, line->time_ns, io.name);
    struct strobe_calls_thread *t = &m->calls->threads[io.thread];
    if (t->call_count)
        t->calls[t->call_count - 1].flags |= OWN_END;
    m->thread_marks[io.thread].marks++;
    return TAKEN;
}

/* Reads: ino N, offset N, bytes N. The event may come on any thread, namely the one that was interrupted. The end
 * belongs to the thread of the begin. */
static enum verdict io_end(struct import *m, const struct strobe_ftrace_line *line, bool write)
{
    text p = {line->payload.at, line->payload.bytes};
    uint64_t inode, offset;
    const char *where;
    if (p.bytes < 4 || memcmp(p.at, "ino ", 4) || !number_after(p, "ino ", &inode, &where) ||
        !number_after(p, ", offset ", &offset, &where))
        return BROKEN;
    size_t i = m->io_count;
    while (i && (m->ios[i - 1].inode != inode || m->ios[i - 1].offset != offset || m->ios[i - 1].write != write))
        i--;
    if (!i) {
        m->stats->orphans++;
        return TAKEN;
    }
    struct io io = m->ios[i - 1];
    drop_io(m, i - 1);
    strobe_calls_add(m->calls, io.thread, STROBE_CALL_END, line->time_ns, io.name);
    return TAKEN;
}

/* ---- lines */

static bool text_is(text t, const char *what)
{
    return t.bytes == strlen(what) && !memcmp(t.at, what, t.bytes);
}

/* Returns the text of `print` without the code location that may precede it. */
static text printed(text payload)
{
    static const char writer[] = "tracing_mark_write: ";
    bool address = payload.bytes > 2 && !memcmp(payload.at, "0x", 2);
    const char *colon = address ? memchr(payload.at, ':', payload.bytes) : NULL;
    size_t lead = payload.bytes >= sizeof writer - 1 && !memcmp(payload.at, writer, sizeof writer - 1)
                      ? sizeof writer - 1
                  : colon ? (size_t)(colon + 1 - payload.at)
                          : 0;
    payload.at += lead;
    payload.bytes -= lead;
    while (payload.bytes && *payload.at == ' ')
        payload.at++, payload.bytes--;
    return payload;
}

/* A begin or end of a read or write of a file. */
struct io_event {
    const char *name;
    bool write, begin;
};

static const struct io_event *find_io_event(text event)
{
    static const struct io_event ios[] = {{"android_fs_dataread_start", false, true},
                                          {"android_fs_dataread_end", false, false},
                                          {"android_fs_datawrite_start", true, true},
                                          {"android_fs_datawrite_end", true, false}};
    for (size_t i = 0; i < sizeof ios / sizeof ios[0] && event.bytes && *event.at == 'a'; i++)
        if (text_is(event, ios[i].name))
            return &ios[i];
    return NULL;
}

/* Stores the text of a marker that this reader knows. Returns false for other events. */
static bool find_mark_text(const struct strobe_ftrace_line *line, text *out)
{
    bool print = text_is(line->event, "print");
    if (!print && !text_is(line->event, "tracing_mark_write"))
        return false;
    *out = print ? printed(line->payload) : line->payload;
    return true;
}

bool strobe_ftrace_is_read(const struct strobe_ftrace_line *line)
{
    text mark;
    if (!find_mark_text(line, &mark))
        return find_io_event(line->event) != NULL;
    return mark.bytes && memchr("BECSFI", *mark.at, 6) && (mark.bytes == 1 || mark.at[1] == '|');
}

bool strobe_ftrace_is_rhea(const struct strobe_ftrace_line *line)
{
    text mark;
    if (!find_mark_text(line, &mark) || mark.bytes < 6 || memcmp(mark.at, "B|", 2))
        return false;
    const char *bar = memchr(mark.at + 2, '|', mark.bytes - 2), *end = mark.at + mark.bytes;
    return bar && end - bar > 3 && (bar[1] == 'E' || bar[1] == 'T') && bar[2] == ':';
}

static enum verdict read_ftrace_event(struct import *m, const struct strobe_ftrace_line *line)
{
    text mark;
    if (find_mark_text(line, &mark))
        return read_mark(m, line, mark);
    const struct io_event *io = find_io_event(line->event);
    if (!io)
        return IGNORED;
    enum verdict v = io->begin ? io_begin(m, line, io->write) : io_end(m, line, io->write);
    m->stats->io += v == TAKEN;
    return v;
}

static void take_line(struct import *m, const char *at, const char *end)
{
    struct strobe_ftrace_line line;
    if (end > at && end[-1] == '\r')
        end--;
    enum verdict v = IGNORED;
    if (at < end && *at != '#' && strobe_ftrace_line_parse(at, end, &line)) {
        m->headed++;
        v = read_ftrace_event(m, &line);
        if (v == IGNORED && m->left_out)
            m->failed |= !strobe_ftrace_kinds_count(m->left_out, line.event);
    }
    m->stats->ignored += v == IGNORED;
    m->stats->marks += v == TAKEN;
    if (v == BROKEN && !m->stats->broken++)
        m->stats->first_broken = m->stats->lines;
}

/* Returns true for a last line that may be truncated: it has no line end, and is not an E marker, which has no name or
 * number to truncate. */
static bool may_be_cut(const char *at, const char *end)
{
    struct strobe_ftrace_line line;
    return !(strobe_ftrace_line_parse(at, end, &line) && printed(line.payload).bytes &&
             *printed(line.payload).at == 'E');
}

static void read_ftrace_lines(struct import *m, const char *p, const char *end)
{
    while (p < end && !m->failed && !m->calls->failed) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        m->stats->lines++;
        if (!stop && may_be_cut(p, end)) {
            m->stats->cut = 1;
            return;
        }
        take_line(m, p, stop ? stop : end);
        p = stop ? stop + 1 : end;
    }
}

/* ---- second pass */

/* Numbers of names without RheaTrace's prefix, created on first use. */
struct stripped {
    uint32_t *name;
    size_t count;
};

static bool is_prefixed(const char *name)
{
    return (name[0] == 'B' || name[0] == 'E' || name[0] == 'T') && name[1] == ':' && name[2];
}

static uint32_t strip(struct import *m, struct stripped *s, uint32_t name)
{
    if (s->name[name] == UINT32_MAX) {
        const char *bare = m->calls->names.texts[name] + 2;
        s->name[name] = strobe_calls_name(m->calls, bare, strlen(bare));
    }
    return s->name[name];
}

/* Gives ENDs without a name the name of the innermost open plain call, and interprets RheaTrace's markers. */
static void resolve_marks(struct import *m, struct strobe_calls_thread *t, uint32_t *stack, struct stripped *stripped)
{
    size_t depth = 0, kept = 0;
    for (size_t i = 0; i < t->call_count; i++) {
        struct strobe_call e = t->calls[i];
        if (e.what == STROBE_CALL_END && e.name == STROBE_CALL_ANY) {
            if (!depth) {
                m->stats->orphans++;
                continue;
            }
            e.name = stack[--depth];
        } else if (e.flags & OWN_END) {
            e.flags = 0;
        } else if (e.what == STROBE_CALL_BEGIN) {
            const char *name = m->calls->names.texts[e.name];
            if (m->stats->rhea && is_prefixed(name)) {
                e.what = name[0] == 'B' ? STROBE_CALL_BEGIN : name[0] == 'E' ? STROBE_CALL_END : STROBE_CALL_THROW;
                e.name = strip(m, stripped, e.name);
            } else {
                stack[depth++] = e.name;
            }
        }
        t->calls[kept++] = e;
    }
    t->call_count = kept;
}

static void settle_all(struct import *m)
{
    size_t most = 1, names = m->calls->names.count;
    for (size_t i = 0; i < m->calls->thread_count; i++)
        most = m->calls->threads[i].call_count > most ? m->calls->threads[i].call_count : most;
    uint32_t *stack = malloc(most * sizeof *stack);
    struct stripped stripped = {malloc((names + 1) * sizeof *stripped.name), names};
    m->failed |= !stack || !stripped.name;
    for (size_t i = 0; i < names && stripped.name; i++)
        stripped.name[i] = UINT32_MAX;
    for (size_t i = 0; i < m->calls->thread_count && !m->failed && !m->calls->failed; i++)
        resolve_marks(m, &m->calls->threads[i], stack, &stripped);
    free(stack);
    free(stripped.name);
}

/* ---- one process */

struct process {
    uint32_t pid;
    uint64_t marks;
};

static int by_pid(const void *left, const void *right)
{
    const struct process *a = left, *b = right;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* Returns the process with the most markers; of equal ones, the one with the lowest pid. */
static uint32_t busiest(struct import *m)
{
    size_t count = m->calls->thread_count;
    struct process *all = malloc((count + 1) * sizeof *all), best = {0};
    if (!all) {
        m->failed = true;
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        all[i] = (struct process){m->thread_marks[i].pid, m->thread_marks[i].marks};
    qsort(all, count, sizeof *all, by_pid);
    for (size_t i = 0, sum = 0; i < count; i++) {
        sum = (i && all[i].pid == all[i - 1].pid ? sum : 0) + all[i].marks;
        if (sum > best.marks)
            best = (struct process){all[i].pid, sum};
    }
    free(all);
    return best.pid;
}

static void widen(struct strobe_calls *c, uint64_t time_ns)
{
    c->begin_ns = time_ns < c->begin_ns ? time_ns : c->begin_ns;
    c->end_ns = time_ns > c->end_ns ? time_ns : c->end_ns;
}

/* Keeps the threads of one process, and its range of time. */
static void keep_process(struct import *m, uint32_t pid)
{
    struct strobe_calls *c = m->calls;
    size_t kept = 0;
    c->pid = pid;
    c->begin_ns = UINT64_MAX;
    c->end_ns = 0;
    snprintf(c->process, sizeof c->process, "process %u", pid);
    for (size_t i = 0; i < c->thread_count; i++) {
        struct strobe_calls_thread *t = &c->threads[i];
        if (m->thread_marks[i].pid != pid) {
            m->stats->other_processes += m->thread_marks[i].marks;
            free(t->calls);
            free(t->marks);
            continue;
        }
        t->is_main = t->tid == pid;
        if (t->is_main)
            snprintf(c->process, sizeof c->process, "%s", t->name);
        m->stats->unordered += t->unordered;
        if (t->call_count) {
            widen(c, t->calls[0].time_ns);
            widen(c, t->calls[t->call_count - 1].time_ns);
        }
        if (t->mark_count) {
            widen(c, t->marks[0].time_ns);
            widen(c, t->marks[t->mark_count - 1].time_ns);
        }
        c->threads[kept++] = *t;
    }
    c->thread_count = kept;
    c->has_range = c->begin_ns <= c->end_ns;
    if (!c->has_range)
        c->begin_ns = c->end_ns = 0;
}

static enum strobe_status check_result(const struct import *m, const struct strobe_ftrace_options *options,
                                       size_t bytes, struct strobe_error *error)
{
    if (m->failed || m->calls->failed) {
        strobe_error_set(error, "%s", strerror(ENOMEM));
        return STROBE_IO;
    }
    if (!bytes) {
        strobe_error_set(error, "is empty, expected ftrace text");
        return STROBE_BAD_INPUT;
    }
    if (!m->headed) {
        strobe_error_set(error, "line 1: expected ftrace text, such as `app-123 (123) [000] ...1 5.000001: "
                                "tracing_mark_write: B|123|name`");
        return STROBE_BAD_INPUT;
    }
    if (!m->calls->thread_count && options->pid) {
        strobe_error_set(error, "holds no mark of process %u", options->pid);
        return STROBE_BAD_INPUT;
    }
    return STROBE_OK;
}

enum strobe_status strobe_ftrace_read(const char *at, size_t bytes, const struct strobe_ftrace_options *options,
                                      struct strobe_calls *out, struct strobe_ftrace_stats *stats,
                                      struct strobe_error *error)
{
    struct strobe_ftrace_stats unasked;
    struct import *m = calloc(1, sizeof *m);
    stats = stats ? stats : &unasked;
    *stats = (struct strobe_ftrace_stats){0};
    strobe_calls_open(out);
    if (!m) {
        strobe_error_set(error, "%s", strerror(ENOMEM));
        return STROBE_IO;
    }
    m->calls = out;
    m->stats = stats;
    m->left_out = options->left_out;
    read_ftrace_lines(m, at, at + bytes);
    stats->rhea = options->marks == STROBE_FTRACE_RHEA || (options->marks == STROBE_FTRACE_AUTO && m->rhea_seen);
    if (!m->failed) {
        uint32_t pid = options->pid ? options->pid : busiest(m);
        if (!m->failed)
            keep_process(m, pid);
    }
    settle_all(m);
    enum strobe_status status = check_result(m, options, bytes, error);
    free(m->thread_marks);
    free(m);
    return status;
}

#include "engine/trace/import/rhea/profilo_text.h"
#include "engine/base/error_format.h"
#include "engine/util/cursor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- writing */

static int32_t less32(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

static int64_t less64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static void keep_last_entry(struct strobe_profilo_state *s, const struct strobe_profilo_entry *e)
{
    s->id = e->id, s->tid = e->tid, s->callid = e->callid, s->matchid = e->matchid;
    s->timestamp = e->timestamp, s->extra = e->extra;
}

static size_t write_text(const struct strobe_profilo_entry *e, char *to, uint64_t *blanked)
{
    int head = snprintf(to, STROBE_PROFILO_LINE_BYTES, "%" PRId32 "|%.31s|%" PRId32 "|", e->id, e->type, e->matchid);
    char *at = to + head;
    for (size_t i = 0; i < e->text_bytes; i++) {
        bool blank = e->text[i] == '\n' || e->text[i] == '\r' || !e->text[i];
        *blanked += blank;
        *at++ = blank ? ' ' : e->text[i];
    }
    *at++ = '\n';
    return (size_t)(at - to);
}

size_t strobe_profilo_write(struct strobe_profilo_state *s, const struct strobe_profilo_entry *e, char *to,
                            uint64_t *blanked)
{
    if (e->text)
        return write_text(e, to, blanked);
    const struct strobe_profilo_state none = {0}, *from = s->delta ? s : &none;
    int bytes =
        snprintf(to, STROBE_PROFILO_LINE_BYTES,
                 "%" PRId32 "|%.31s|%" PRId64 "|%" PRId32 "|%" PRId32 "|%" PRId32 "|%" PRId64 "\n",
                 less32(e->id, from->id), e->type, less64(e->timestamp, from->timestamp), less32(e->tid, from->tid),
                 less32(e->callid, from->callid), less32(e->matchid, from->matchid), less64(e->extra, from->extra));
    keep_last_entry(s, e);
    return (size_t)bytes;
}

/* ---- reading */

static bool take_32(struct strobe_cursor *t, int32_t before, int32_t *out)
{
    int64_t n;
    if (!strobe_cursor_take_signed(t, INT32_MAX, &n))
        return false;
    *out = (int32_t)((uint32_t)before + (uint32_t)n);
    return true;
}

static bool take_64(struct strobe_cursor *t, int64_t before, int64_t *out)
{
    int64_t n;
    if (!strobe_cursor_take_signed(t, INT64_MAX, &n))
        return false;
    *out = (int64_t)((uint64_t)before + (uint64_t)n);
    return true;
}

static bool take_type(struct strobe_cursor *t, char *type)
{
    size_t bytes = 0;
    while (t->at < t->end && ((*t->at >= 'A' && *t->at <= 'Z') || *t->at == '_' || (*t->at >= '0' && *t->at <= '9'))) {
        if (bytes == STROBE_PROFILO_TYPE_BYTES - 1)
            return false;
        type[bytes++] = *t->at++;
    }
    type[bytes] = 0;
    return bytes > 0 && strobe_cursor_take(t, "|");
}

/* Texts are recognized by their types: STRING_KEY, STRING_VALUE, STRING_NAME. */
static bool is_text(const char *type)
{
    return !strncmp(type, "STRING_", 7);
}

bool strobe_profilo_parse(struct strobe_profilo_state *s, const char *line, size_t bytes,
                          struct strobe_profilo_entry *out)
{
    const struct strobe_profilo_state none = {0}, *from = s->delta ? s : &none;
    struct strobe_cursor t = {line, line + bytes};
    struct strobe_profilo_entry e = {0};
    int64_t id;
    if (!strobe_cursor_take_signed(&t, INT32_MAX, &id) || !strobe_cursor_take(&t, "|") || !take_type(&t, e.type))
        return false;
    if (is_text(e.type)) {
        e.id = (int32_t)id;
        if (!take_32(&t, 0, &e.matchid) || !strobe_cursor_take(&t, "|"))
            return false;
        e.text = t.at;
        e.text_bytes = (size_t)(t.end - t.at);
        *out = e;
        return true;
    }
    e.id = (int32_t)((uint32_t)from->id + (uint32_t)id);
    if (!take_64(&t, from->timestamp, &e.timestamp) || !strobe_cursor_take(&t, "|") ||
        !take_32(&t, from->tid, &e.tid) || !strobe_cursor_take(&t, "|") || !take_32(&t, from->callid, &e.callid) ||
        !strobe_cursor_take(&t, "|") || !take_32(&t, from->matchid, &e.matchid) || !strobe_cursor_take(&t, "|") ||
        !take_64(&t, from->extra, &e.extra) || t.at != t.end)
        return false;
    keep_last_entry(s, &e);
    *out = e;
    return true;
}

/* ---- as calls */

enum { NAMES_DUE = 64 }; /* a name comes right behind its entry; only entries of other threads may lie between */

struct reading {
    struct strobe_calls *calls;
    struct strobe_profilo_stats *stats;
    struct strobe_profilo_state state;
    uint64_t scale; /* ns per unit of a timestamp */
    struct {
        int32_t id;
        bool is;
        uint32_t thread;
        size_t call;
    } due[NAMES_DUE];
};

static void add_unnamed_begin(struct reading *r, const struct strobe_profilo_entry *e, uint32_t thread,
                              uint64_t time_ns)
{
    strobe_calls_add(r->calls, thread, STROBE_CALL_BEGIN, time_ns, strobe_calls_name(r->calls, "", 0));
    if (r->calls->failed)
        return;
    uint32_t slot = (uint32_t)e->id % NAMES_DUE;
    r->due[slot].id = e->id;
    r->due[slot].is = true;
    r->due[slot].thread = thread;
    r->due[slot].call = r->calls->threads[thread].call_count - 1;
}

static void name_due_call(struct reading *r, const struct strobe_profilo_entry *e)
{
    uint32_t slot = (uint32_t)e->matchid % NAMES_DUE;
    r->stats->texts++;
    if (strcmp(e->type, "STRING_NAME") != 0 || !r->due[slot].is || r->due[slot].id != e->matchid)
        return;
    uint32_t number = strobe_calls_name(r->calls, e->text, e->text_bytes);
    if (!r->calls->failed)
        r->calls->threads[r->due[slot].thread].calls[r->due[slot].call].name = number;
    r->due[slot].is = false;
}

static void entry(struct reading *r, const struct strobe_profilo_entry *e)
{
    if (e->text) {
        name_due_call(r, e);
        return;
    }
    bool push = !strcmp(e->type, "MARK_PUSH"), pop = !strcmp(e->type, "MARK_POP");
    uint64_t units = e->timestamp > 0 ? (uint64_t)e->timestamp : 0;
    uint64_t time_ns = units > UINT64_MAX / r->scale ? UINT64_MAX : units * r->scale;
    r->stats->entries++;
    if (!strcmp(e->type, "TRACE_START") && !r->calls->pid && e->tid > 0)
        r->calls->pid = (uint32_t)e->tid;
    if (!push && !pop) {
        r->stats->others++;
        return;
    }
    uint32_t thread = strobe_calls_thread(r->calls, (uint32_t)e->tid);
    if (r->calls->failed)
        return;
    if (push)
        add_unnamed_begin(r, e, thread, time_ns);
    else
        strobe_calls_add(r->calls, thread, STROBE_CALL_END, time_ns, STROBE_CALL_ANY);
}

static bool key_is(const char *line, size_t bytes, const char *key, int64_t *value)
{
    size_t length = strlen(key);
    struct strobe_cursor t = {line + length, line + bytes};
    return bytes > length && !memcmp(line, key, length) && strobe_cursor_take_signed(&t, INT32_MAX, value) &&
           t.at == t.end;
}

/* Reads a line of the head. */
static void head_line(struct reading *r, const char *line, size_t bytes)
{
    int64_t value;
    if (key_is(line, bytes, "prec|", &value) && value >= 0 && value <= 9)
        for (r->scale = 1000000000; value; value--)
            r->scale /= 10;
    if (key_is(line, bytes, "pid|", &value) && value > 0)
        r->calls->pid = (uint32_t)value;
}

bool strobe_profilo_is(const char *text, size_t bytes)
{
    return bytes >= 3 && !memcmp(text, "dt\n", 3);
}

enum strobe_status strobe_profilo_read(const char *text, size_t bytes, struct strobe_calls *out,
                                       struct strobe_profilo_stats *stats, struct strobe_error *error)
{
    struct reading r = {.calls = out, .stats = stats, .state.delta = true, .scale = 1000};
    bool in_head = true;
    *stats = (struct strobe_profilo_stats){0};
    if (!strobe_profilo_is(text, bytes)) {
        strobe_error_set(error, "line 1: expected `dt`");
        return STROBE_BAD_INPUT;
    }
    for (size_t at = 0; at < bytes && !out->failed;) {
        const char *line = text + at, *newline = memchr(line, '\n', bytes - at);
        struct strobe_profilo_entry e;
        if (!newline) {
            stats->cut_off = true;
            break;
        }
        size_t length = (size_t)(newline - line);
        at += length + 1;
        stats->lines++;
        if (in_head) {
            in_head = length != 0;
            head_line(&r, line, length);
        } else if (strobe_profilo_parse(&r.state, line, length, &e)) {
            entry(&r, &e);
        } else if (!stats->unknown++) {
            stats->first_unknown = stats->lines;
        }
    }
    if (out->failed) {
        strobe_error_set(error, "out of memory");
        return STROBE_IO;
    }
    if (!in_head)
        return STROBE_OK;
    strobe_error_set(error, "expected an empty line after its head of %" PRIu64 " lines", stats->lines);
    return STROBE_BAD_INPUT;
}

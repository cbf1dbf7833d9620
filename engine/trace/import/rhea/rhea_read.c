#include "engine/trace/import/rhea/rhea_read.h"
#include "engine/base/error_format.h"
#include "engine/util/cursor.h"

#include <stdio.h>
#include <string.h>

struct reading {
    struct strobe_calls *calls;
    struct strobe_rhea_read_stats *stats;
    bool started;
};

/* Parses "12.000345", or ".000345". */
static bool take_seconds(struct strobe_cursor *t, uint64_t *ns)
{
    uint64_t seconds = 0, fraction = 0;
    if (strobe_cursor_at_digit(t) && !strobe_cursor_take_number(t, UINT64_MAX, &seconds))
        return false;
    if (!strobe_cursor_take(t, ".") || !strobe_cursor_at_digit(t) || seconds > UINT64_MAX / 1000000000 - 1)
        return false;
    uint64_t scale = 100000000;
    for (; strobe_cursor_at_digit(t); t->at++, scale /= 10) {
        if (!scale)
            return false;
        fraction += (uint64_t)(*t->at - '0') * scale;
    }
    *ns = seconds * 1000000000 + fraction;
    return true;
}

/* Parses `ID|TYPE|`. The type of an entry consists of capitals. */
static bool take_entry(struct strobe_cursor *t, struct strobe_cursor *type)
{
    struct strobe_cursor at = *t;
    uint64_t id;
    if (!strobe_cursor_take_number(&at, UINT64_MAX, &id) || !strobe_cursor_take(&at, "|"))
        return false;
    type->at = at.at;
    while (at.at < at.end && ((*at.at >= 'A' && *at.at <= 'Z') || *at.at == '_'))
        at.at++;
    type->end = at.at;
    if (type->at == type->end || !strobe_cursor_take(&at, "|"))
        return false;
    *t = at;
    return true;
}

static bool rest_is(const struct strobe_cursor *t, const char *word)
{
    struct strobe_cursor at = *t;
    return strobe_cursor_take(&at, word) && at.at == at.end;
}

/* Reads the time and process of TRACE_START. */
static bool read_trace_start(struct reading *r, struct strobe_cursor t)
{
    uint64_t time_ns, pid;
    if (!strobe_cursor_take_number(&t, UINT64_MAX, &time_ns) || !strobe_cursor_take(&t, "|") ||
        !strobe_cursor_take_number(&t, UINT64_MAX, &pid) || !pid || pid > INT32_MAX)
        return false;
    r->started = true;
    r->stats->boot_ns = time_ns;
    r->calls->pid = (uint32_t)pid;
    return true;
}

static void call(struct reading *r, uint32_t tid, uint64_t time_ns, enum strobe_call_what what,
                 const struct strobe_cursor *name)
{
    uint32_t number = name ? strobe_calls_name(r->calls, name->at, (size_t)(name->end - name->at)) : STROBE_CALL_ANY;
    uint32_t thread = strobe_calls_thread(r->calls, tid);
    if (!r->calls->failed)
        strobe_calls_add(r->calls, thread, what, time_ns, number);
}

/* Adds the call of `B|pid|name`. */
static void add_named_call(struct reading *r, uint32_t tid, uint64_t time_ns, struct strobe_cursor t)
{
    const char *bar = strobe_cursor_take(&t, "|") ? memchr(t.at, '|', (size_t)(t.end - t.at)) : NULL;
    t.at = bar ? bar + 1 : t.end;
    enum strobe_call_what what = strobe_cursor_take(&t, "B:")   ? STROBE_CALL_BEGIN
                                 : strobe_cursor_take(&t, "E:") ? STROBE_CALL_END
                                 : strobe_cursor_take(&t, "T:") ? STROBE_CALL_THROW
                                                                : STROBE_CALL_BEGIN;
    call(r, tid, time_ns, what, &t);
}

/* Reads `sec.usec[ tid]: message`. */
static bool read_message(struct reading *r, struct strobe_cursor t)
{
    uint64_t time_ns, tid = r->calls->pid;
    if (!take_seconds(&t, &time_ns) ||
        (strobe_cursor_take(&t, " ") && !strobe_cursor_take_number(&t, UINT64_MAX, &tid)) || tid > INT32_MAX ||
        !strobe_cursor_take(&t, ": ") || t.at == t.end)
        return false;
    r->stats->messages++;
    char kind = *t.at++;
    bool alone = t.at == t.end || *t.at == '|';
    if (kind == 'B' && alone)
        add_named_call(r, (uint32_t)tid, time_ns, t);
    else if (kind == 'E' && alone)
        call(r, (uint32_t)tid, time_ns, STROBE_CALL_END, NULL);
    else
        r->stats->others++;
    return true;
}

/* Reads the log's last comment: `# 3 packets lost, 0 messages dropped, ...`. Other comments begin with # too. */
static void read_loss_comment(struct reading *r, struct strobe_cursor t)
{
    uint64_t packets, messages;
    if (strobe_cursor_take(&t, "# ") && strobe_cursor_take_number(&t, UINT64_MAX, &packets) &&
        strobe_cursor_take(&t, " packets lost, ") && strobe_cursor_take_number(&t, UINT64_MAX, &messages) &&
        strobe_cursor_take(&t, " messages dropped"))
        r->stats->lost = packets + messages < packets ? UINT64_MAX : packets + messages;
}

static void line(struct reading *r, struct strobe_cursor t)
{
    struct strobe_cursor type, entry = t;
    bool is_entry = take_entry(&entry, &type), understood;
    if (t.at < t.end && *t.at == '#') {
        read_loss_comment(r, t);
        return;
    }
    if (!r->started) {
        r->stats->before_start += !(is_entry && rest_is(&type, "TRACE_START") && read_trace_start(r, entry));
        return;
    }
    if (r->stats->ended) {
        r->stats->after_end++;
        return;
    }
    if (is_entry && (rest_is(&type, "TRACE_END") || rest_is(&type, "TRACE_ABORT") || rest_is(&type, "TRACE_TIMEOUT"))) {
        uint64_t end_ns;
        r->stats->ended = true;
        if (strobe_cursor_take_number(&entry, UINT64_MAX, &end_ns) && end_ns > r->calls->end_ns &&
            end_ns >= r->stats->boot_ns)
            r->calls->end_ns = end_ns;
        return;
    }
    /* profilo's own writer writes texts as `ID|TYPE|MATCHID|TEXT`. */
    uint64_t match;
    if (is_entry && strobe_cursor_take_number(&entry, UINT64_MAX, &match) && strobe_cursor_take(&entry, "|"))
        t = entry;
    if (strobe_cursor_take(&t, "monotonic_time: "))
        understood = take_seconds(&t, &r->stats->monotonic_ns);
    else
        understood = read_message(r, t);
    if (!understood && !r->stats->unknown++)
        r->stats->first_unknown = r->stats->lines;
}

static void set_range(struct reading *r)
{
    struct strobe_calls *c = r->calls;
    uint64_t begin_ns = r->stats->boot_ns;
    if (!c->has_range || begin_ns < c->begin_ns)
        c->begin_ns = begin_ns;
    if (c->end_ns < c->begin_ns)
        c->end_ns = c->begin_ns;
    uint32_t main_thread = r->stats->lost ? strobe_calls_thread(c, c->pid) : 0;
    if (r->stats->lost && !c->failed)
        c->threads[main_thread].lost = r->stats->lost;
}

enum strobe_status strobe_rhea_read(const char *text, size_t bytes, struct strobe_calls *out,
                                    struct strobe_rhea_read_stats *stats, struct strobe_error *error)
{
    struct reading r = {.calls = out, .stats = stats};
    *stats = (struct strobe_rhea_read_stats){0};
    for (size_t at = 0; at < bytes && !out->failed;) {
        const char *newline = memchr(text + at, '\n', bytes - at);
        if (!newline) {
            stats->cut_off = true;
            break;
        }
        struct strobe_cursor t = {text + at, newline};
        at = (size_t)(newline - text) + 1;
        if (t.end > t.at && t.end[-1] == '\r')
            t.end--;
        stats->lines++;
        line(&r, t);
    }
    if (!r.started) {
        strobe_error_set(error, "no line `ID|TRACE_START|TIME|PID|...` in its %llu lines",
                         (unsigned long long)stats->lines);
        return STROBE_BAD_INPUT;
    }
    set_range(&r);
    if (!out->failed)
        return STROBE_OK;
    strobe_error_set(error, "out of memory");
    return STROBE_IO;
}

#include "engine/watch/proc_stat.h"

#include "engine/util/cursor.h"

#include <stdbool.h>
#include <string.h>

enum {
    STATE = 3,
    MINOR = 10,
    MAJOR = 12,
    USER = 14,
    SYSTEM = 15,
    PRIORITY = 18,
    NICE = 19,
    THREADS = 20,
    START = 22,
    VM = 23,
    RSS = 24,
    MILLION = 1000000,
    DECIMALS = 6
};

/* Reads a number of up to 64 bits and its sign. Returns false when there is none, or it is too large. */
static bool stat_take_number(struct strobe_cursor *t, uint64_t *out, bool *negative)
{
    *negative = strobe_cursor_take(t, "-");
    return strobe_cursor_take_number(t, UINT64_MAX, out);
}

static bool to_signed(uint64_t n, bool negative, int64_t *out)
{
    if (n > (uint64_t)INT64_MAX + negative)
        return false;
    *out = negative ? (int64_t)(0 - n) : (int64_t)n;
    return true;
}

/* Stores field `field` of the line. Returns false when its value is out of range. */
static bool proc_stat_keep_field(struct strobe_proc_stat *s, int field, uint64_t n, bool negative)
{
    int64_t value;
    switch (field) {
    case MINOR: s->minor_faults = n; return !negative;
    case MAJOR: s->major_faults = n; return !negative;
    case USER: s->user_ticks = n; return !negative;
    case SYSTEM: s->system_ticks = n; return !negative;
    case START: s->start_ticks = n; return !negative;
    case VM: s->vm_bytes = n; return !negative;
    default: break;
    }
    if (!to_signed(n, negative, &value))
        return field != PRIORITY && field != NICE && field != THREADS && field != RSS;
    switch (field) {
    case PRIORITY: s->priority = value; break;
    case NICE: s->nice = value; break;
    case THREADS: s->thread_count = value; break;
    case RSS: s->rss_pages = value; break;
    default: break;
    }
    return true;
}

static const char *last_bracket(const char *text, const char *end)
{
    while (end > text && end[-1] != ')')
        end--;
    return end > text ? end - 1 : NULL;
}

/* Reads the first three fields, pid (comm) state, and moves `t` past them. */
static bool take_head(struct strobe_cursor *t, struct strobe_proc_stat *s)
{
    uint64_t pid;
    bool negative;
    const char *close = last_bracket(t->at, t->end);
    if (!close || !stat_take_number(t, &pid, &negative) || negative || pid > UINT32_MAX || t->end - t->at < 2 ||
        t->at[0] != ' ' || t->at[1] != '(' || close < t->at + 2)
        return false;
    size_t length = (size_t)(close - (t->at + 2));
    if (length > sizeof s->comm - 1)
        length = sizeof s->comm - 1;
    s->pid = (uint32_t)pid;
    memcpy(s->comm, t->at + 2, length);
    s->comm[length] = 0;
    t->at = close + 1;
    if (t->end - t->at < 2 || t->at[0] != ' ' || t->at[1] <= ' ')
        return false;
    s->state = t->at[1];
    t->at += 2;
    return true;
}

enum strobe_status strobe_proc_stat_read(const char *text, size_t bytes, struct strobe_proc_stat *out)
{
    const char *line = memchr(text, '\n', bytes);
    struct strobe_cursor t = strobe_cursor(text, bytes);
    /* A name may contain a newline, but the kernel writes it as \n. */
    if (line)
        t.end = line;
    *out = (struct strobe_proc_stat){0};
    if (!take_head(&t, out))
        return STROBE_BAD_INPUT;
    for (int field = STATE + 1; field <= RSS; field++) {
        uint64_t n;
        bool negative;
        if (t.at == t.end || *t.at != ' ')
            return STROBE_BAD_INPUT;
        t.at++;
        if (!stat_take_number(&t, &n, &negative) || (t.at < t.end && *t.at != ' ') ||
            !proc_stat_keep_field(out, field, n, negative))
            return STROBE_BAD_INPUT;
    }
    return STROBE_OK;
}

/* ---- sched */

static enum strobe_status stat_take_value(struct strobe_cursor t, int64_t *millionths)
{
    uint64_t n, part = 0;
    bool negative;
    strobe_cursor_skip_blanks(&t);
    if (!stat_take_number(&t, &n, &negative) || n > INT64_MAX / MILLION)
        return STROBE_BAD_INPUT;
    if (t.at < t.end && *t.at == '.') {
        t.at++;
        uint64_t weight = MILLION;
        for (int i = 0; i < DECIMALS && strobe_cursor_at_digit(&t); i++, t.at++)
            part += (uint64_t)(*t.at - '0') * (weight /= 10);
        while (strobe_cursor_at_digit(&t))
            t.at++;
    }
    strobe_cursor_skip_blanks(&t);
    if (t.at != t.end || !to_signed(n * MILLION + part, negative, millionths))
        return STROBE_BAD_INPUT;
    return STROBE_OK;
}

enum strobe_status strobe_proc_sched_read(const char *text, size_t bytes, const char *key, int64_t *millionths)
{
    struct strobe_cursor t = strobe_cursor(text, bytes);
    size_t length = strlen(key);
    for (const char *end; t.at < t.end && (end = memchr(t.at, '\n', (size_t)(t.end - t.at))); t.at = end + 1) {
        struct strobe_cursor line = {t.at, end};
        if ((size_t)(end - t.at) <= length || memcmp(t.at, key, length) != 0)
            continue;
        line.at += length;
        strobe_cursor_skip_blanks(&line);
        if (line.at == line.end || *line.at != ':')
            continue;
        line.at++;
        return stat_take_value(line, millionths);
    }
    return STROBE_NO_ENTRY;
}

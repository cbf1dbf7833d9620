#include "engine/trace/import/ftrace/ftrace_line.h"

#include "engine/util/cursor.h"

#include <string.h>

enum { COLUMN_BYTES_MAX = 24 }; /* of a tgid or flags; bounds the cost of other lines */
enum { CPU_MAX = 8191 };        /* Linux has at most 8192 */

bool strobe_ftrace_number(struct strobe_ftrace_text text, uint64_t most, uint64_t *out)
{
    struct strobe_cursor c = strobe_cursor(text.at, text.bytes);
    uint64_t n;
    if (text.bytes > 20 || !strobe_cursor_take_number(&c, most, &n) || c.at != c.end)
        return false;
    *out = n;
    return true;
}

static bool is_ftrace_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Parses `(1234)`, `(-----)` or nothing, ending at `end`, and returns its begin. NULL: the brackets contain something
 * else. */
static const char *tgid_before(const char *line, const char *end, uint32_t *tgid)
{
    uint64_t n = 0;
    *tgid = 0;
    if (end == line || end[-1] != ')')
        return end;
    const char *close = end - 1, *p = close;
    while (p > line && p[-1] != '(' && close - p < COLUMN_BYTES_MAX)
        p--;
    if (p == line || p[-1] != '(')
        return NULL;
    const char *open = p - 1;
    while (p < close && is_ftrace_blank(*p))
        p++;
    struct strobe_ftrace_text inside = {p, (size_t)(close - p)};
    if (strobe_ftrace_number(inside, UINT32_MAX, &n))
        *tgid = (uint32_t)n;
    else
        for (; p < close; p++)
            if (*p != '-')
                return NULL;
    return open;
}

/* Parses the fields before the CPU, which begins at `bracket`: task, tid, tgid. */
static bool before_cpu(const char *line, const char *bracket, struct strobe_ftrace_line *out)
{
    const char *p = bracket;
    while (p > line && is_ftrace_blank(p[-1]))
        p--;
    p = tgid_before(line, p, &out->tgid);
    if (!p)
        return false;
    while (p > line && is_ftrace_blank(p[-1]))
        p--;
    const char *end = p;
    while (p > line && strobe_is_digit(p[-1]))
        p--;
    uint64_t tid;
    if (p == line || p[-1] != '-' ||
        !strobe_ftrace_number((struct strobe_ftrace_text){p, (size_t)(end - p)}, UINT32_MAX, &tid))
        return false;
    out->tid = (uint32_t)tid;
    end = p - 1;
    while (line < end && is_ftrace_blank(*line))
        line++;
    out->task = (struct strobe_ftrace_text){line, (size_t)(end - line)};
    return true;
}

/* Parses `seconds.fraction:` to ns. Returns the position behind it, or NULL. */
static const char *time_at(const char *p, const char *end, uint64_t *time_ns)
{
    const uint64_t seconds_max = 10000000000; /* more than any clock has; in ns it fits 64 bits */
    uint64_t seconds = 0, fraction = 0, unit = 1000000000;
    const char *first = p;
    for (; p < end && strobe_is_digit(*p); p++) {
        seconds = seconds * 10 + (uint64_t)(*p - '0');
        if (seconds > seconds_max)
            return NULL;
    }
    if (p == first || p == end || *p++ != '.')
        return NULL;
    for (first = p; p < end && strobe_is_digit(*p) && unit > 1; p++) {
        unit /= 10;
        fraction += (uint64_t)(*p - '0') * unit;
    }
    if (p == first || p == end || *p != ':')
        return NULL;
    *time_ns = seconds * 1000000000u + fraction;
    return p + 1;
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && is_ftrace_blank(*p))
        p++;
    return p;
}

/* Parses the fields behind the CPU: flags, time, event, payload. */
static bool behind_cpu(const char *p, const char *end, struct strobe_ftrace_line *out)
{
    p = skip_blanks(p, end);
    const char *then = time_at(p, end, &out->time_ns);
    out->flags = (struct strobe_ftrace_text){p, 0};
    if (!then) {
        while (p < end && !is_ftrace_blank(*p) && p - out->flags.at < COLUMN_BYTES_MAX)
            p++;
        out->flags.bytes = (size_t)(p - out->flags.at);
        then = time_at(skip_blanks(p, end), end, &out->time_ns);
    }
    if (!then)
        return false;
    p = skip_blanks(then, end);
    const char *colon = memchr(p, ':', (size_t)(end - p));
    if (!colon || colon == p)
        return false;
    out->event = (struct strobe_ftrace_text){p, (size_t)(colon - p)};
    p = skip_blanks(colon + 1, end);
    out->payload = (struct strobe_ftrace_text){p, (size_t)(end - p)};
    return true;
}

bool strobe_ftrace_line_parse(const char *line, const char *end, struct strobe_ftrace_line *out)
{
    /* A task's name may contain text that looks like a CPU. The CPU is the first such text that the rest of the line
     * fits. */
    for (const char *p = line; (p = memchr(p, '[', (size_t)(end - p))) != NULL; p++) {
        const char *close = p + 1;
        while (close < end && strobe_is_digit(*close))
            close++;
        uint64_t cpu;
        if (close < end && *close == ']' &&
            strobe_ftrace_number((struct strobe_ftrace_text){p + 1, (size_t)(close - p - 1)}, CPU_MAX, &cpu) &&
            before_cpu(line, p, out) && behind_cpu(close + 1, end, out)) {
            out->cpu = (uint32_t)cpu;
            return true;
        }
    }
    return false;
}

#include "engine/trace/import/perf/perf_line.h"

#include <string.h>

enum { WORDS_MAX = 24 };

static bool is_perf_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct strobe_cursor trim_perf_blanks(struct strobe_cursor c)
{
    while (c.at < c.end && is_perf_blank(*c.at))
        c.at++;
    while (c.end > c.at && is_perf_blank(c.end[-1]))
        c.end--;
    return c;
}

static bool take_perf_word(struct strobe_cursor *c, struct strobe_cursor *word)
{
    while (c->at < c->end && is_perf_blank(*c->at))
        c->at++;
    word->at = c->at;
    while (c->at < c->end && !is_perf_blank(*c->at))
        c->at++;
    word->end = c->at;
    return word->end > word->at;
}

/* Takes a time in s with 3 to 9 decimals and a colon. */
static bool is_time(struct strobe_cursor word, uint64_t *ns)
{
    uint64_t seconds, part = 0;
    unsigned digits = 0;
    if (!strobe_cursor_take_number(&word, UINT64_MAX / 4000000000u, &seconds) || !strobe_cursor_take(&word, "."))
        return false;
    for (; strobe_cursor_at_digit(&word) && digits < 9; digits++)
        part = part * 10 + (uint64_t)(*word.at++ - '0');
    if (digits < 3 || !strobe_cursor_take(&word, ":") || word.at != word.end)
        return false;
    for (; digits < 9; digits++)
        part *= 10;
    *ns = seconds * 1000000000 + part;
    return true;
}

/* Takes TID or PID/TID. */
static bool is_tid(struct strobe_cursor word, struct strobe_perf_line *out)
{
    uint64_t first, second;
    if (!strobe_cursor_take_number(&word, UINT32_MAX - 1, &first))
        return false;
    bool both = strobe_cursor_take(&word, "/");
    if (both && !strobe_cursor_take_number(&word, UINT32_MAX - 1, &second))
        return false;
    if (word.at != word.end)
        return false;
    out->has_tid = true;
    out->has_pid = both;
    out->pid = both ? (uint32_t)first : 0;
    out->tid = (uint32_t)(both ? second : first);
    return true;
}

static bool is_number(struct strobe_cursor word, uint64_t *out)
{
    return strobe_cursor_take_number(&word, UINT64_MAX, out) && word.at == word.end;
}

static bool is_cpu(struct strobe_cursor word)
{
    uint64_t cpu;
    return strobe_cursor_take(&word, "[") && strobe_cursor_take_number(&word, UINT32_MAX, &cpu) &&
           strobe_cursor_take(&word, "]") && word.at == word.end;
}

static bool ends_with_colon(struct strobe_cursor word)
{
    return word.end - word.at > 1 && word.end[-1] == ':';
}

/* Finds comm, tid and time. Returns the index of the first word behind them. */
static size_t take_front(struct strobe_cursor line, const struct strobe_cursor *words, size_t count,
                         struct strobe_perf_line *out)
{
    size_t time = 0, next, tid = 1;
    while (time < count && !is_time(words[time], &out->time_ns))
        time++;
    out->has_time = time < count;
    if (out->has_time) { /* the words before it, from its end */
        next = time + 1;
        tid = time - (time > 0 && is_cpu(words[time - 1]));
        if (tid > 0 && is_tid(words[tid - 1], out))
            tid--;
    } else {
        while (tid < count && !is_tid(words[tid], out))
            tid++;
        next = tid < count ? tid + 1 : 0;
        next += next && next < count && is_cpu(words[next]);
        if (!next) /* without a tid, the comm is in front of the event, and of the period */
            while (next < count && !ends_with_colon(words[next]))
                next++;
        uint64_t period;
        if (!out->has_tid && next < count && next > 0 && is_number(words[next - 1], &period))
            next--;
        tid = out->has_tid ? tid : next;
    }
    const char *end = tid < count ? words[tid].at : line.end;
    out->comm = trim_perf_blanks((struct strobe_cursor){line.at, tid ? end : line.at});
    return next;
}

static void take_back(struct strobe_cursor line, const struct strobe_cursor *words, size_t count, size_t next,
                      struct strobe_perf_line *out)
{
    uint64_t period;
    if (next < count && strobe_cursor_take(&(struct strobe_cursor){words[next].at, words[next].end}, "PERF_RECORD_")) {
        out->record = (struct strobe_cursor){words[next].at, line.end};
        return;
    }
    if (next + 1 < count && is_number(words[next], &period) && ends_with_colon(words[next + 1])) {
        out->has_period = true;
        out->period = period;
        next++;
    }
    if (next < count && ends_with_colon(words[next])) {
        out->event = (struct strobe_cursor){words[next].at, words[next].end - 1};
        next++;
    }
    if (next < count)
        out->rest = (struct strobe_cursor){words[next].at, line.end};
}

bool strobe_perf_take_line(struct strobe_cursor line, struct strobe_perf_line *out)
{
    struct strobe_cursor words[WORDS_MAX], left = line;
    size_t count = 0;
    *out = (struct strobe_perf_line){.pid = 0};
    while (count < WORDS_MAX && take_perf_word(&left, &words[count]))
        count++;
    size_t next = take_front(line, words, count, out);
    take_back(line, words, count, next, out);
    return out->has_tid || out->has_time || out->event.at < out->event.end || out->record.at < out->record.end;
}

/* Takes "(dso)" off the end of the text. Parentheses may stand within it. */
static void take_dso(struct strobe_cursor *text, struct strobe_cursor *dso)
{
    unsigned open = 0;
    if (text->end == text->at || text->end[-1] != ')')
        return;
    for (const char *at = text->end; at > text->at; at--) {
        open += at[-1] == ')';
        open -= at[-1] == '(';
        if (open)
            continue;
        if (at - 1 > text->at && !is_perf_blank(at[-2]))
            return; /* the arguments of a function, not a dso */
        *dso = (struct strobe_cursor){at, text->end - 1};
        *text = trim_perf_blanks((struct strobe_cursor){text->at, at - 1});
        return;
    }
}

static void drop_offset(struct strobe_cursor *symbol)
{
    struct strobe_cursor digits;
    uint64_t offset;
    for (const char *at = symbol->end; at > symbol->at + 1 && symbol->end - at < 20; at--) {
        digits = (struct strobe_cursor){at, symbol->end};
        if (at[-1] == '+' && strobe_cursor_take(&digits, "0x") && strobe_cursor_take_hex(&digits, &offset) &&
            digits.at == digits.end) {
            symbol->end = at - 1;
            return;
        }
    }
}

static bool is_exactly(struct strobe_cursor c, const char *text)
{
    return strobe_cursor_take(&c, text) && c.at == c.end;
}

bool strobe_perf_take_frame(struct strobe_cursor text, struct strobe_perf_frame *out)
{
    *out = (struct strobe_perf_frame){.ip = 0};
    text = trim_perf_blanks(text);
    struct strobe_cursor here = text;
    if (strobe_cursor_take_hex(&here, &out->ip) && (here.at == here.end || is_perf_blank(*here.at)))
        text = trim_perf_blanks(here);
    else
        out->ip = 0;
    take_dso(&text, &out->dso);
    if (is_exactly(out->dso, "inlined") || is_exactly(out->dso, "[unknown]"))
        out->dso = (struct strobe_cursor){text.end, text.end};
    drop_offset(&text);
    out->symbol = is_exactly(text, "[unknown]") ? (struct strobe_cursor){text.end, text.end} : text;
    return out->ip || out->symbol.at < out->symbol.end || out->dso.at < out->dso.end;
}

bool strobe_perf_event_is(struct strobe_cursor event, const char *name)
{
    return strobe_cursor_take(&event, name) && (event.at == event.end || *event.at == ':');
}

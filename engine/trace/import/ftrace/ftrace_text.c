#include "engine/trace/import/ftrace/ftrace_text.h"

#include "engine/util/array.h"
#include "engine/util/cursor.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 9 };

void strobe_ftrace_text_open(struct strobe_ftrace_reader *r, const struct strobe_ftrace_visitor *visitor)
{
    *r = (struct strobe_ftrace_reader){.visitor = visitor};
}

/* ---- lines that are no events */

/* Takes the next word. */
static bool take_text_word(struct strobe_cursor *c, struct strobe_ftrace_text *word)
{
    strobe_cursor_skip_blanks(c);
    word->at = c->at;
    while (c->at < c->end && *c->at != ' ' && *c->at != '\t')
        c->at++;
    word->bytes = (size_t)(c->at - word->at);
    return word->bytes > 0;
}

static bool is_table_word(struct strobe_ftrace_text word, const char *text)
{
    return word.bytes == strlen(text) && !memcmp(word.at, text, word.bytes);
}

/* Finds the begin of a table of processes. */
static bool begins_table(struct strobe_cursor c, enum strobe_ftrace_table *table)
{
    struct strobe_ftrace_text word[4];
    for (int i = 0; i < 4; i++)
        if (!take_text_word(&c, &word[i]))
            return false;
    if (!is_table_word(word[0], "USER") || !is_table_word(word[1], "PID"))
        return false;
    if (is_table_word(word[2], "TID") && is_table_word(word[3], "CMD"))
        *table = STROBE_FTRACE_THREADS;
    else if (is_table_word(word[2], "PPID"))
        *table = STROBE_FTRACE_PROCESSES;
    else
        return false;
    return true;
}

/* Reads a row: USER PID TID CMD, or USER PID PPID VSZ RSS WCHAN PC S NAME ... */
static bool read_row(struct strobe_ftrace_reader *r, struct strobe_cursor c)
{
    struct strobe_ftrace_text word[WORDS_MAX];
    struct strobe_ftrace_process row = {0};
    size_t words = r->table == STROBE_FTRACE_THREADS ? 3 : WORDS_MAX - 1;
    uint64_t pid, other;
    for (size_t i = 0; i < words; i++)
        if (!take_text_word(&c, &word[i]))
            return false;
    strobe_cursor_skip_blanks(&c);
    row.name = (struct strobe_ftrace_text){c.at, (size_t)(c.end - c.at)};
    if (!row.name.bytes || !strobe_ftrace_number(word[1], UINT32_MAX, &pid) ||
        !strobe_ftrace_number(word[2], UINT32_MAX, &other))
        return false;
    row.pid = (uint32_t)pid;
    if (r->table == STROBE_FTRACE_THREADS)
        row.tid = (uint32_t)other;
    else if (take_text_word(&c, &row.name)) /* the name, without the command line */
        row.parent = (uint32_t)other;
    if (r->visitor->process)
        r->visitor->process(r->visitor->ctx, &row);
    return true;
}

/* trace_pipe reports `CPU:3 [LOST 45 EVENTS]`; trace-cmd adds other words behind. */
static bool read_lost(struct strobe_ftrace_reader *r, struct strobe_cursor c)
{
    uint64_t cpu, lost;
    strobe_cursor_skip_blanks(&c);
    if (!strobe_cursor_take(&c, "CPU:") || !strobe_cursor_take_number(&c, UINT32_MAX, &cpu))
        return false;
    strobe_cursor_skip_blanks(&c);
    if (!strobe_cursor_take(&c, "[LOST ") || !strobe_cursor_take_number(&c, UINT32_MAX, &lost) ||
        !strobe_cursor_take(&c, " EVENTS"))
        return false;
    r->lost_events += lost;
    return true;
}

/* A header states the clock: `# clock: boot`, or `trace_clock: [boot]`. */
static void read_clock_header(struct strobe_ftrace_reader *r, struct strobe_cursor c)
{
    struct strobe_ftrace_text word;
    while (c.at < c.end && (*c.at == '#' || *c.at == ' ' || *c.at == '\t'))
        c.at++;
    if (!strobe_cursor_take(&c, "clock:") && !strobe_cursor_take(&c, "trace_clock:"))
        return;
    strobe_cursor_skip_blanks(&c);
    if (c.at < c.end && *c.at == '[')
        c.at++;
    if (!take_text_word(&c, &word))
        return;
    word.bytes -= word.at[word.bytes - 1] == ']';
    if (word.bytes < sizeof r->clock) {
        memcpy(r->clock, word.at, word.bytes);
        r->clock[word.bytes] = 0;
    }
}

/* trace-cmd begins with `cpus=4`, `version = 6`, and says of each empty buffer `CPU 2 is empty`. */
static bool is_trace_cmd_head(struct strobe_cursor c)
{
    uint64_t n;
    struct strobe_cursor d = c;
    if (strobe_cursor_take(&c, "cpus=") || strobe_cursor_take(&c, "version ="))
        return strobe_cursor_skip_blanks(&c), strobe_cursor_take_number(&c, UINT32_MAX, &n);
    return strobe_cursor_take(&d, "CPU ") && strobe_cursor_take_number(&d, UINT32_MAX, &n) &&
           strobe_cursor_take(&d, " is empty");
}

static bool is_dump_head(struct strobe_cursor c)
{
    return strobe_cursor_take(&c, "PROCESS DUMP") || strobe_cursor_take(&c, "CGROUP DUMP") ||
           strobe_cursor_take(&c, "TRACE:") || strobe_cursor_take(&c, "capturing trace...");
}

static void read_other_line(struct strobe_ftrace_reader *r, struct strobe_cursor c)
{
    struct strobe_cursor first = c;
    strobe_cursor_skip_blanks(&first);
    if (first.at == first.end || *first.at == '#' || strobe_cursor_take(&first, "trace_clock:")) {
        read_clock_header(r, c);
        r->headers++;
    } else if (begins_table(c, &r->table) || is_trace_cmd_head(c) || is_dump_head(c) || read_lost(r, c) ||
               (r->table && read_row(r, c))) {
        r->headers++;
    } else {
        r->others++;
        r->first_other = r->first_other ? r->first_other : r->lines;
    }
}

/* ---- lines */

static void read_text_line(struct strobe_ftrace_reader *r, const char *at, const char *end)
{
    struct strobe_ftrace_line line;
    r->lines++;
    while (end > at && (end[-1] == '\r' || end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if ((at == end || *at != '#') && strobe_ftrace_line_parse(at, end, &line)) {
        r->events++;
        r->table = STROBE_FTRACE_NO_TABLE;
        r->visitor->event(r->visitor->ctx, &line);
    } else {
        read_other_line(r, strobe_cursor(at, (size_t)(end - at)));
    }
}

/* Keeps the begin of a line for the next piece. Of a line that is too long, no more than the limit is kept. */
static void keep_rest(struct strobe_ftrace_reader *r, const char *at, size_t bytes)
{
    size_t room = STROBE_FTRACE_LINE_BYTES + 1 - r->rest_bytes;
    bytes = bytes < room ? bytes : room;
    if (!bytes || (r->failed |= !strobe_array_reserve(&r->rest, &r->rest_room, r->rest_bytes + bytes)))
        return;
    memcpy(r->rest + r->rest_bytes, at, bytes);
    r->rest_bytes += bytes;
}

static void end_line(struct strobe_ftrace_reader *r, const char *at, const char *end)
{
    if (end - at > STROBE_FTRACE_LINE_BYTES) {
        r->lines++;
        r->long_lines++;
    } else {
        read_text_line(r, at, end);
    }
}

void strobe_ftrace_text_feed(struct strobe_ftrace_reader *r, const char *text, size_t bytes)
{
    const char *at = text, *end = text + bytes;
    while (at < end && !r->failed) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline) {
            keep_rest(r, at, (size_t)(end - at));
            return;
        }
        if (r->rest_bytes) {
            keep_rest(r, at, (size_t)(newline - at));
            if (!r->failed)
                end_line(r, r->rest, r->rest + r->rest_bytes);
            r->rest_bytes = 0;
        } else {
            end_line(r, at, newline);
        }
        at = newline + 1;
    }
}

void strobe_ftrace_text_close(struct strobe_ftrace_reader *r)
{
    r->cut = r->rest_bytes > 0;
    free(r->rest);
    r->rest = NULL;
    r->rest_bytes = r->rest_room = 0;
}

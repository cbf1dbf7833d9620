#include "engine/watch/watch_text.h"
#include "engine/base/error_format.h"

#include "engine/util/text_pool.h"
#include "engine/watch/proc_stat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC   "strobe-watch 1"
#define MS_MOST 1e12 /* largest time; a double represents it to the ns */

enum { FRAMES_MOST = 1000, TICK_NS = 10000000 }; /* frames of a sample; CPU time of one tick in stat */

/* The arguments that follow a word. */
enum arguments { NOTHING, TEXT, NUMBER, NUMBER_TEXT, TWO_NUMBERS, DUE_TEXT, FRAME, LOOP, STACK, STAT, BLOCK };

static const struct word {
    const char *name;
    enum strobe_watch_what what;
    uint32_t code;
    enum arguments arguments;
} words[] = {
    {"process", STROBE_WATCH_PROCESS, 0, NUMBER_TEXT},
    {"begin", STROBE_WATCH_MESSAGE_BEGIN, 0, DUE_TEXT},
    {"end", STROBE_WATCH_MESSAGE_END, 0, TEXT},
    {"call", STROBE_WATCH_CALL_BEGIN, 0, TEXT},
    {"return", STROBE_WATCH_CALL_END, 0, NOTHING},
    {"idle", STROBE_WATCH_IDLE_BEGIN, 0, TEXT},
    {"idle-end", STROBE_WATCH_IDLE_END, 0, NOTHING},
    {"touch", STROBE_WATCH_TOUCH_BEGIN, 0, TWO_NUMBERS},
    {"touched", STROBE_WATCH_TOUCH_END, 0, NUMBER},
    {"app", STROBE_WATCH_APP_BEGIN, 0, NOTHING},
    {"component", STROBE_WATCH_COMPONENT, 0, NUMBER_TEXT},
    {"created", STROBE_WATCH_ACTIVITY, STROBE_ACTIVITY_CREATED, TEXT},
    {"focused", STROBE_WATCH_ACTIVITY, STROBE_ACTIVITY_FOCUSED, TEXT},
    {"paused", STROBE_WATCH_ACTIVITY, STROBE_ACTIVITY_PAUSED, TEXT},
    {"destroyed", STROBE_WATCH_ACTIVITY, STROBE_ACTIVITY_DESTROYED, TEXT},
    {"foreground", STROBE_WATCH_FOREGROUND, 1, NOTHING},
    {"background", STROBE_WATCH_FOREGROUND, 0, NOTHING},
    {"signal", STROBE_WATCH_SIGNAL, 0, TWO_NUMBERS},
    {"not-responding", STROBE_WATCH_NOT_RESPONDING, 0, NUMBER},
    {"nice", STROBE_WATCH_PRIORITY, 0, NUMBER},
    {"slack", STROBE_WATCH_PRIORITY, 1, NUMBER},
    {"stat", STROBE_WATCH_PRIORITY, 0, STAT},
    {"sched", STROBE_WATCH_CPU, 0, BLOCK},
    {"threads", STROBE_WATCH_THREADS_TEXT, 0, BLOCK},
    {"loop", STROBE_WATCH_LOOP, 0, LOOP},
    {"sample", STROBE_WATCH_SAMPLE, 0, STACK},
    {"tick", STROBE_WATCH_TICK, 0, NOTHING},
    {"frame", STROBE_WATCH_FRAME, 0, FRAME},
};

struct reader {
    char *at;    /* unread text; NULL = none */
    size_t line; /* number of the last line read */
    struct strobe_watcher *watcher;
    struct strobe_watch_seen seen;
    bool begun;
    struct {
        const char *of;
        uint64_t cpu_ns, time_ns;
    } cpu; /* the last reading, and the word that it came with */
    struct strobe_text_pool methods;
    const char *expected; /* what the erroneous line should have had */
};

/* ---- words and numbers of a line */

/* Splits off the next word; "" when there is none. */
static char *take_word(char **line)
{
    char *word = *line + strspn(*line, " \t");
    size_t bytes = strcspn(word, " \t");
    *line = word + bytes + (word[bytes] != 0);
    word[bytes] = 0;
    return word;
}

static bool line_take_number(struct reader *r, char **line, int64_t *out)
{
    char *word = take_word(line), *end;
    errno = 0;
    *out = strtoll(word, &end, 10);
    if (*word && !*end && !errno)
        return true;
    r->expected = "a whole number";
    return false;
}

static bool take_ms(struct reader *r, char **line, uint64_t *ns)
{
    char *word = take_word(line), *end;
    double ms = strtod(word, &end);
    /* Accepts digits only, not names of numbers such as nan. */
    if (word[strspn(word, "0123456789.")] || end == word || *end || !(ms >= 0 && ms <= MS_MOST)) {
        r->expected = "a time in ms";
        return false;
    }
    *ns = (uint64_t)(ms * 1e6 + 0.5);
    return true;
}

static char *line_rest(char *line)
{
    return line + strspn(line, " \t");
}

/* ---- lines */

static char *reader_next_line(struct reader *r)
{
    char *line = r->at;
    if (!line || !*line)
        return NULL;
    size_t bytes = strcspn(line, "\n");
    r->at = line[bytes] ? line + bytes + 1 : NULL;
    line[bytes] = 0;
    if (bytes && line[bytes - 1] == '\r')
        line[bytes - 1] = 0;
    r->line++;
    return line;
}

/* Returns the lines up to a single dot as one text. */
static char *reader_take_block(struct reader *r)
{
    char *text = r->at;
    for (char *at = text; at && *at;) {
        size_t bytes = strcspn(at, "\n");
        bool newline = at[bytes] != 0, dot = at[0] == '.' && (bytes == 1 || (bytes == 2 && at[1] == '\r'));
        r->line++;
        if (dot) {
            *at = 0;
            r->at = newline ? at + bytes + 1 : NULL;
            return text;
        }
        at = at[bytes] ? at + bytes + 1 : NULL;
    }
    r->expected = "a line that is a dot, after the text";
    return NULL;
}

static void reader_pass_event(struct reader *r, const struct strobe_watch_event *e)
{
    if (!r->begun)
        r->seen.begin_ns = e->time_ns;
    r->begun = true;
    r->seen.end_ns = e->time_ns > r->seen.end_ns ? e->time_ns : r->seen.end_ns;
    r->seen.calls += e->what == STROBE_WATCH_CALL_BEGIN;
    r->seen.messages += e->what == STROBE_WATCH_MESSAGE_BEGIN;
    r->seen.frames += e->what == STROBE_WATCH_FRAME;
    r->seen.activities += e->what == STROBE_WATCH_ACTIVITY && e->code == STROBE_ACTIVITY_CREATED;
    r->watcher->take_event(r->watcher, e);
}

/* Passes the CPU use since the last reading with the same word. */
static void reader_pass_cpu(struct reader *r, const char *of, uint64_t cpu_ns, uint64_t time_ns)
{
    struct strobe_watch_event e = {.what = STROBE_WATCH_CPU, .time_ns = time_ns, .text = ""};
    if (r->cpu.of == of && time_ns > r->cpu.time_ns && cpu_ns >= r->cpu.cpu_ns) {
        e.value = (int64_t)((double)(cpu_ns - r->cpu.cpu_ns) / (double)(time_ns - r->cpu.time_ns) * 1000 + 0.5);
        reader_pass_event(r, &e);
    }
    r->cpu.of = of;
    r->cpu.cpu_ns = cpu_ns;
    r->cpu.time_ns = time_ns;
}

static bool reader_pass_stat(struct reader *r, struct strobe_watch_event *e, const char *line)
{
    struct strobe_proc_stat s;
    if (strobe_proc_stat_read(line, strlen(line), &s) != STROBE_OK) {
        r->expected = "a line of /proc/PID/stat";
        return false;
    }
    reader_pass_cpu(r, "stat", (s.user_ticks + s.system_ticks) * TICK_NS, e->time_ns);
    e->value = s.nice;
    reader_pass_event(r, e);
    return true;
}

static bool reader_pass_block(struct reader *r, struct strobe_watch_event *e)
{
    int64_t millionths;
    const char *text = reader_take_block(r);
    if (!text)
        return false;
    if (e->what == STROBE_WATCH_THREADS_TEXT) {
        e->text = text;
        reader_pass_event(r, e);
        return true;
    }
    /* The unit is ms. */
    if (strobe_proc_sched_read(text, strlen(text), "se.sum_exec_runtime", &millionths) != STROBE_OK || millionths < 0) {
        r->expected = "se.sum_exec_runtime among the lines of sched";
        return false;
    }
    reader_pass_cpu(r, "sched", (uint64_t)millionths, e->time_ns);
    return true;
}

static bool reader_pass_frame(struct reader *r, struct strobe_watch_event *e, char *line)
{
    struct strobe_watch_frame f = {.end_ns = e->time_ns, .is_vsync = true};
    if (!take_ms(r, &line, &f.begin_ns) || !take_ms(r, &line, &f.intended_ns) || !take_ms(r, &line, &f.input_ns) ||
        !take_ms(r, &line, &f.animation_ns) || !take_ms(r, &line, &f.traversal_ns))
        return false;
    if (f.begin_ns > f.end_ns) {
        r->expected = "a frame that begins before it ends";
        return false;
    }
    e->frame = &f;
    reader_pass_event(r, e);
    return true;
}

static bool reader_pass_sample(struct reader *r, struct strobe_watch_event *e, char *line)
{
    uint64_t frames[FRAMES_MOST];
    const char *names[FRAMES_MOST];
    uint32_t count = 0;
    char *end = line + strlen(line);
    for (char *at = end; count < FRAMES_MOST && at > line; at = at > line ? at - 1 : at) {
        char *stop = at;
        while (at > line && at[-1] != ';')
            at--;
        *stop = 0;
        uint32_t number = strobe_text_number(&r->methods, at, (size_t)(stop - at));
        if (number == UINT32_MAX)
            return false;
        frames[count] = (uint64_t)number + 1;
        names[count++] = r->methods.texts[number];
    }
    struct strobe_watch_stack stack = {frames, count, names};
    e->stack = &stack;
    reader_pass_event(r, e);
    return true;
}

static bool reader_pass_loop(struct reader *r, struct strobe_watch_event *e, char *line)
{
    static const char *const names[] = {"entry", "timers", "sources", "waiting", "woken", "exit"};
    const char *word = take_word(&line);
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(word, names[i]) != 0)
            continue;
        e->code = i;
        reader_pass_event(r, e);
        return true;
    }
    r->expected = "entry, timers, sources, waiting, woken or exit";
    return false;
}

/* Reads the arguments that are words and numbers. Returns false when one is wrong. */
static bool take_plain(struct reader *r, const struct word *w, struct strobe_watch_event *e, char *line)
{
    int64_t first = 0, second = 0;
    bool has_text = w->arguments == TEXT || w->arguments == NUMBER_TEXT || w->arguments == DUE_TEXT;
    if ((w->arguments == NUMBER || w->arguments == NUMBER_TEXT || w->arguments == TWO_NUMBERS) &&
        !line_take_number(r, &line, &first))
        return false;
    if (w->arguments == TWO_NUMBERS && !line_take_number(r, &line, &second))
        return false;
    if (w->arguments == DUE_TEXT && line[strspn(line, " \t")] == '-')
        take_word(&line);
    else if (w->arguments == DUE_TEXT && !take_ms(r, &line, &e->when_ns))
        return false;
    e->text = has_text ? line_rest(line) : "";
    if (!has_text && *line_rest(line)) {
        r->expected = "nothing more on this line";
        return false;
    }
    e->value = first;
    if (w->what == STROBE_WATCH_COMPONENT)
        e->code = (uint32_t)first;
    if (w->what == STROBE_WATCH_TOUCH_BEGIN)
        e->code = second > 0 && second <= UINT32_MAX ? (uint32_t)second : 0;
    if (w->what == STROBE_WATCH_SIGNAL) {
        e->code = (uint32_t)first;
        e->value = second;
    }
    return true;
}

static bool reader_pass_line(struct reader *r, char *line)
{
    struct strobe_watch_event e = {.text = ""};
    if (!take_ms(r, &line, &e.time_ns))
        return false;
    const char *name = take_word(&line);
    const struct word *w = NULL;
    for (size_t i = 0; i < sizeof words / sizeof words[0] && !w; i++)
        w = strcmp(words[i].name, name) ? NULL : &words[i];
    if (!w) {
        r->expected = "a word that says what happened, such as begin";
        return false;
    }
    e.what = w->what;
    e.code = w->code;
    switch (w->arguments) {
    case FRAME: return reader_pass_frame(r, &e, line);
    case LOOP: return reader_pass_loop(r, &e, line);
    case STACK: return reader_pass_sample(r, &e, line_rest(line));
    case STAT: return reader_pass_stat(r, &e, line_rest(line));
    case BLOCK: return reader_pass_block(r, &e);
    default: break;
    }
    if (!take_plain(r, w, &e, line))
        return false;
    reader_pass_event(r, &e);
    return true;
}

/* ---- the text */

enum strobe_status strobe_watch_text_view(const char *text, struct strobe_watch_view *out, struct strobe_error *error)
{
    char head[256], *line = head;
    size_t bytes = strcspn(text, "\r\n");
    *out = (struct strobe_watch_view){.resolution_ns = 1};
    if (strncmp(text, MAGIC, sizeof MAGIC - 1) != 0 || !strchr(" \t\r\n", text[sizeof MAGIC - 1]))
        return STROBE_NO_ENTRY;
    snprintf(head, sizeof head, "%.*s", (int)(bytes < sizeof head - 1 ? bytes : sizeof head - 1), text);
    line += sizeof MAGIC - 1;
    for (const char *word; *(word = take_word(&line));) {
        unsigned long long n = 0;
        char more;
        if (!strcmp(word, "due")) {
            out->knows_due = true;
        } else if (sscanf(word, "refresh=%9llu%c", &n, &more) == 1 && n && n <= 1000) {
            out->refresh_hz = (uint32_t)n;
        } else if (sscanf(word, "within=%15llu%c", &n, &more) == 1 && n) {
            out->resolution_ns = out->unseen_below_ns = n;
        } else {
            strobe_error_set(error, "line 1: %.60s: expected due, refresh=HZ or within=NS", word);
            return STROBE_BAD_INPUT;
        }
    }
    return STROBE_OK;
}

enum strobe_status strobe_watch_text_read(char *text, struct strobe_watcher *watcher, struct strobe_watch_seen *seen,
                                          struct strobe_error *error)
{
    struct reader r = {.at = text, .watcher = watcher};
    bool good = true;
    reader_next_line(&r);
    for (char *line; good && (line = reader_next_line(&r));) {
        char *first = line_rest(line);
        if (*first && *first != '#')
            good = reader_pass_line(&r, line);
    }
    if (good)
        reader_pass_event(&r,
                          &(struct strobe_watch_event){.what = STROBE_WATCH_END, .time_ns = r.seen.end_ns, .text = ""});
    else if (r.expected)
        strobe_error_set(error, "line %zu: expected %s", r.line, r.expected);
    strobe_text_pool_free(&r.methods);
    if (seen)
        *seen = r.seen;
    return good ? STROBE_OK : r.expected ? STROBE_BAD_INPUT : STROBE_IO;
}

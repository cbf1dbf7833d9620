#include "engine/trace/import/collapsed/collapsed_read.h"
#include "engine/base/error_format.h"

#include "engine/util/array.h"
#include "engine/util/cursor.h"
#include "engine/util/text_pool.h"

#include <stdlib.h>
#include <string.h>

/* A line with a stack. */
struct collapsed_line {
    struct strobe_cursor frames; /* separated by ; */
    uint64_t weight;
};

struct collapsed_thread {
    uint32_t number;  /* in the samples */
    uint64_t time_ns; /* end of its last stack */
};

struct collapsed {
    const struct strobe_collapsed_options *options;
    struct strobe_sampled *out;
    struct strobe_collapsed_stats *stats;
    bool by_first;                 /* the first frame is the thread */
    struct strobe_text_pool names; /* of threads; their numbers are indices of threads */
    struct collapsed_thread *threads;
    size_t thread_count, thread_room;
    uint64_t *frames;
    size_t frame_room;
    bool failed;
};

/* ---- lines */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Takes the frames and the weight of a line. Returns false when it has none. */
static bool take_collapsed(struct strobe_cursor line, struct collapsed_line *out)
{
    while (line.end > line.at && is_space(line.end[-1]))
        line.end--;
    const char *number = line.end;
    while (number > line.at && strobe_is_digit(number[-1]))
        number--;
    struct strobe_cursor digits = {number, line.end};
    if (number == line.at || !is_space(number[-1]) || !strobe_cursor_take_number(&digits, UINT64_MAX, &out->weight))
        return false;
    while (number > line.at && is_space(number[-1]))
        number--;
    out->frames = (struct strobe_cursor){line.at, number};
    strobe_cursor_skip_blanks(&out->frames);
    return out->frames.at < out->frames.end;
}

static bool is_comment(struct strobe_cursor line)
{
    strobe_cursor_skip_blanks(&line);
    return line.at == line.end || *line.at == '#' || (line.end - line.at == 1 && *line.at == '\r');
}

static struct strobe_cursor take_collapsed_frame(struct strobe_cursor *frames)
{
    const char *semicolon = memchr(frames->at, ';', (size_t)(frames->end - frames->at));
    struct strobe_cursor frame = {frames->at, semicolon ? semicolon : frames->end};
    frames->at = semicolon ? semicolon + 1 : frames->end;
    return frame;
}

/* ---- threads */

/* Finds the tid in a thread's name of a known form. */
static bool tid_in_name(struct strobe_cursor name, uint32_t *tid)
{
    static const char mark[] = " tid=";
    struct strobe_cursor digits;
    uint64_t number;
    const char *end = name.end, *at;
    bool bracket = name.at < end && *name.at == '[' && end[-1] == ']';
    end -= bracket;
    for (at = end; at > name.at && strobe_is_digit(at[-1]);)
        at--;
    digits = (struct strobe_cursor){at, end};
    size_t before = (size_t)(at - name.at), marked = sizeof mark - 1;
    bool fits = bracket ? before > marked && !memcmp(at - marked, mark, marked)
                        : before > 1 && (at[-1] == '/' || at[-1] == '-');
    if (!fits || !strobe_cursor_take_number(&digits, UINT32_MAX - 1, &number) || digits.at != digits.end)
        return false;
    *tid = (uint32_t)number;
    return true;
}

/* Returns the name without its tid, and without the pid. */
static struct strobe_cursor name_alone(struct strobe_cursor name)
{
    uint32_t tid;
    struct strobe_cursor out = name;
    if (!tid_in_name(name, &tid))
        return name;
    if (*name.at == '[') {
        out.at++;
        while (out.end > out.at && *out.end != ' ')
            out.end--;
        return out;
    }
    while (out.end > out.at && (strobe_is_digit(out.end[-1]) || out.end[-1] == '/'))
        out.end--;
    return out.end > out.at + 1 && out.end[-1] == '-' ? (struct strobe_cursor){out.at, out.end - 1} : name;
}

/* Returns the thread of this name; the place is valid until the next call. NULL: out of memory. */
static struct collapsed_thread *thread_named(struct collapsed *c, struct strobe_cursor name)
{
    static const char none[] = "stacks";
    if (!c->by_first || name.at == name.end)
        name = strobe_cursor(none, sizeof none - 1);
    uint32_t number = strobe_text_number(&c->names, name.at, (size_t)(name.end - name.at)), tid;
    if (number == UINT32_MAX || !strobe_array_reserve(&c->threads, &c->thread_room, (size_t)number + 1)) {
        c->failed = true;
        return NULL;
    }
    if (number == c->thread_count) {
        struct strobe_cursor shown = name_alone(name);
        if (!c->by_first || !tid_in_name(name, &tid))
            tid = number + 1;
        c->threads[c->thread_count++] = (struct collapsed_thread){strobe_sampled_thread(c->out, tid), 0};
        strobe_sampled_rename(c->out, c->threads[number].number, shown.at, (size_t)(shown.end - shown.at));
    }
    return &c->threads[number];
}

/* ---- stacks */

static struct strobe_sampled_stack stack_of_frames(struct collapsed *c, struct strobe_cursor frames)
{
    size_t count = 0;
    while (frames.at < frames.end) {
        struct strobe_cursor frame = take_collapsed_frame(&frames);
        if (!strobe_array_reserve(&c->frames, &c->frame_room, count + 1)) {
            c->failed = true;
            break;
        }
        if (frame.at < frame.end)
            c->frames[count++] = strobe_sampled_function(c->out, 0, frame.at, (size_t)(frame.end - frame.at));
    }
    return strobe_sampled_stack(c->out, c->frames, count);
}

/* Adds the stack. Returns false when its time is beyond that of sessions. */
static bool add_collapsed(struct collapsed *c, const struct collapsed_line *line)
{
    uint64_t unit_ns = c->options->unit_ns, step = c->stats->per_sample;
    struct strobe_cursor frames = line->frames, first = take_collapsed_frame(&frames);
    struct collapsed_thread *t = thread_named(c, first);
    if (!t)
        return true;
    if (line->weight > (STROBE_SAMPLED_TIME_MAX - t->time_ns) / unit_ns)
        return false;
    uint64_t count = (line->weight + step - 1) / step;
    struct strobe_sampled_point p = {.first_ns = t->time_ns,
                                     .last_ns = t->time_ns + (count ? count - 1 : 0) * step * unit_ns,
                                     .cpu_ns = STROBE_SAMPLED_CPU_UNKNOWN,
                                     .stack = stack_of_frames(c, c->by_first ? frames : line->frames),
                                     .thread = t->number,
                                     .count = (uint32_t)count,
                                     .kind = STROBE_KIND_CLOCK};
    if (count && !strobe_sampled_point(c->out, &p))
        return false;
    t->time_ns += line->weight * unit_ns;
    return true;
}

static void count_unknown(struct strobe_collapsed_stats *s)
{
    s->first_unknown = s->unknown++ ? s->first_unknown : s->lines;
}

/* Sums up the weights, and finds out whether the first frames are threads. */
static void survey_collapsed(struct collapsed *c, struct strobe_cursor text)
{
    struct strobe_collapsed_stats *s = c->stats;
    struct strobe_cursor line;
    struct collapsed_line l;
    uint32_t tid;
    bool known = true;
    while (strobe_cursor_take_line(&text, &line)) {
        if (is_comment(line) || !take_collapsed(line, &l))
            continue;
        struct strobe_cursor frames = l.frames;
        s->stacks++;
        s->weight = l.weight > UINT64_MAX - s->weight ? UINT64_MAX : s->weight + l.weight;
        known = known && tid_in_name(take_collapsed_frame(&frames), &tid);
    }
    s->per_sample = s->weight / STROBE_COLLAPSED_SAMPLES_MAX + 1;
    c->by_first =
        c->options->threads == STROBE_COLLAPSED_FIRST || (c->options->threads == STROBE_COLLAPSED_AUTO && known);
}

static enum strobe_status read_collapsed(struct collapsed *c, struct strobe_cursor text, struct strobe_error *error)
{
    struct strobe_collapsed_stats *s = c->stats;
    struct strobe_cursor line;
    struct collapsed_line l;
    survey_collapsed(c, text);
    if (!s->stacks) {
        strobe_error_set(error, "line 1: expected stacks such as `main;read_file;read 12`");
        return STROBE_BAD_INPUT;
    }
    uint64_t most = STROBE_SAMPLED_TIME_MAX / c->options->unit_ns;
    strobe_sampled_interval(c->out, (s->per_sample < most ? s->per_sample : most) * c->options->unit_ns, 0);
    while (!c->failed && strobe_cursor_take_line(&text, &line)) {
        s->lines++;
        if (!is_comment(line) && (!take_collapsed(line, &l) || !add_collapsed(c, &l)))
            count_unknown(s);
    }
    for (size_t i = 0; i < c->thread_count; i++)
        strobe_sampled_thread_end(c->out, c->threads[i].number, c->threads[i].time_ns);
    return c->failed ? STROBE_IO : STROBE_OK;
}

enum strobe_status strobe_collapsed_read(const char *text, size_t bytes, const struct strobe_collapsed_options *options,
                                         struct strobe_sampled *out, struct strobe_collapsed_stats *stats,
                                         struct strobe_error *error)
{
    *stats = (struct strobe_collapsed_stats){0};
    struct collapsed c = {.options = options, .out = out, .stats = stats};
    enum strobe_status status = read_collapsed(&c, strobe_cursor(text, bytes), error);
    strobe_text_pool_free(&c.names);
    free(c.threads);
    free(c.frames);
    return status;
}

#include "sim/explore/saved.h"
#include "engine/base/error_format.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OPERATIONS_MAX = 65536, LINE_MAX_BYTES = 600 };
static const char AN_OPERATION[] = "an operation, such as 0.3 load acquire 4 0x1 1.2 state+0x40";

struct reader {
    const char *path;
    FILE *in;
    uint32_t number; /* number of the current line, from 1 */
    char line[LINE_MAX_BYTES];
    struct explore_saved *out;
    struct strobe_error *error;
};

static enum strobe_status saved_expected(const struct reader *r, const char *what)
{
    strobe_error_set(r->error, "%s:%u: expected %s", r->path, r->number, what);
    return STROBE_BAD_INPUT;
}

/* Reads the next line that is not a comment, without its newline. Returns false at the end, and for a line that is cut
 * or too long. */
static bool saved_next_line(struct reader *r)
{
    do {
        r->number++;
        if (!fgets(r->line, sizeof r->line, r->in))
            return false;
        size_t n = strcspn(r->line, "\n");
        if (r->line[n] != '\n')
            return false;
        r->line[n] = 0;
    } while (r->line[0] == '#');
    return true;
}

/* ---- parts of a line */

/* Returns the next word; "" at the end. */
static const char *saved_next_word(char **at)
{
    char *begin = *at + strspn(*at, " ");
    char *end = begin + strcspn(begin, " ");
    *at = *end ? end + 1 : end;
    *end = 0;
    return begin;
}

static bool saved_number(const char *text, uint64_t max, uint64_t *out)
{
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    *out = strtoull(text, &end, 0);
    return !*end && !errno && *out <= max;
}

static bool saved_small_number(const char *text, uint32_t max, uint32_t *out)
{
    uint64_t wide;
    if (!saved_number(text, max, &wide))
        return false;
    *out = (uint32_t)wide;
    return true;
}

/* "THREAD.NUMBER" */
static bool saved_reference(char *text, uint32_t *thread, uint32_t *index)
{
    char *dot = strchr(text, '.');
    if (!dot)
        return false;
    *dot = 0;
    bool good =
        saved_small_number(text, EXPLORE_THREADS_MAX - 1, thread) && saved_small_number(dot + 1, OPERATIONS_MAX, index);
    *dot = '.';
    return good;
}

/* ---- head */

/* Returns the text after `key` in the next line, or NULL when the line has another key. */
static char *saved_value_of(struct reader *r, const char *key)
{
    size_t n = strlen(key);
    return saved_next_line(r) && !strncmp(r->line, key, n) && r->line[n] == ' ' ? r->line + n + 1 : NULL;
}

static bool read_at(struct reader *r, const char *key, struct explore_at *out)
{
    uint32_t thread;
    char *at = saved_value_of(r, key);
    if (!at)
        return false;
    if (!strcmp(at, "none"))
        return true;
    if (!saved_small_number(saved_next_word(&at), EXPLORE_THREADS_MAX - 1, &thread) ||
        !saved_small_number(saved_next_word(&at), OPERATIONS_MAX, &out->step) || *at)
        return false;
    out->thread = thread + 1;
    return true;
}

static bool saved_read_memory(struct reader *r, enum explore_memory *out)
{
    const char *text = saved_value_of(r, "memory");
    for (unsigned m = 0; text && m < EXPLORE_MEMORIES; m++)
        if (!strcmp(text, explore_memory_name((enum explore_memory)m))) {
            *out = (enum explore_memory)m;
            return true;
        }
    return false;
}

static bool read_fault(struct reader *r, enum explore_fault *out)
{
    const char *text = saved_value_of(r, "fault");
    for (unsigned f = 1; text && f < EXPLORE_FAULTS; f++)
        if (!strcmp(text, explore_fault_name((enum explore_fault)f))) {
            *out = (enum explore_fault)f;
            return true;
        }
    return false;
}

static bool saved_read_number(struct reader *r, const char *key, uint32_t max, uint32_t *out)
{
    const char *text = saved_value_of(r, key);
    return text && saved_small_number(text, max, out);
}

static enum strobe_status read_head(struct reader *r)
{
    struct explore_saved *s = r->out;
    const char *text;
    if (!saved_next_line(r) || strcmp(r->line, "strobe explore 1") != 0)
        return saved_expected(r, "strobe explore 1, as a saved failure begins");
    if (!(text = saved_value_of(r, "program")) || !*text)
        return saved_expected(r, "program NAME");
    if (!(s->program = strdup(text)))
        return STROBE_IO;
    if (!saved_read_memory(r, &s->options.memory))
        return saved_expected(r, "memory sc, memory tso or memory c11");
    if (!saved_read_number(r, "size", UINT32_MAX, &s->options.size))
        return saved_expected(r, "size N");
    if (!(text = saved_value_of(r, "spurious")) || (strcmp(text, "yes") && strcmp(text, "no")))
        return saved_expected(r, "spurious yes or spurious no");
    s->options.spurious = text[0] == 'y';
    if (!saved_read_number(r, "steps", UINT32_MAX, &s->options.steps_max))
        return saved_expected(r, "steps N");
    if (!read_at(r, "frozen", &s->failure.frozen))
        return saved_expected(r, "frozen none, or frozen THREAD STEP");
    if (!read_at(r, "interrupted", &s->failure.interrupted))
        return saved_expected(r, "interrupted none, or interrupted THREAD STEP");
    if (!read_fault(r, &s->failure.fault))
        return saved_expected(r, "fault and the name of one");
    if (!(text = saved_value_of(r, "message")))
        return saved_expected(r, "message TEXT");
    snprintf(s->failure.message, sizeof s->failure.message, "%.*s", (int)sizeof s->failure.message - 1, text);
    if (!saved_read_number(r, "operations", OPERATIONS_MAX, &s->failure.step_count))
        return saved_expected(r, "operations N");
    return STROBE_OK;
}

/* ---- operations */

static bool read_kind(const char *does, const char *order, struct explore_step *s)
{
    for (unsigned o = EXPLORE_LOAD; o <= EXPLORE_PLAIN_STORE; o++)
        for (int m = memory_order_relaxed; m <= memory_order_seq_cst; m++) {
            s->operation = (enum explore_operation)o;
            s->order = m;
            if (!strcmp(does, explore_operation_name(s->operation)) && !strcmp(order, explore_order_name(s)))
                return true;
        }
    return false;
}

/* An edge may refer to a later line: it is stored as thread << 24 | number until all lines are read. */
static bool read_edge(char *text, uint32_t *out)
{
    uint32_t thread, index;
    *out = UINT32_MAX;
    if (!strcmp(text, "start") || !strcmp(text, "-"))
        return true;
    if (!saved_reference(text, &thread, &index))
        return false;
    *out = thread << 24 | index;
    return true;
}

static bool read_step(struct reader *r, struct explore_step *s)
{
    char *at = r->line, *edge;
    uint32_t to;
    s->from = s->after = UINT32_MAX;
    if (!saved_reference((char *)saved_next_word(&at), &s->thread, &s->number))
        return false;
    const char *does = saved_next_word(&at), *order = saved_next_word(&at);
    if (!read_kind(does, order, s) || !saved_small_number(saved_next_word(&at), 1 << 20, &s->bytes) ||
        !saved_number(saved_next_word(&at), UINT64_MAX, &s->value))
        return false;
    edge = (char *)saved_next_word(&at);
    if (!read_edge(edge, &to) || !*at || strlen(at) >= sizeof s->place)
        return false;
    *(s->operation == EXPLORE_STORE ? &s->after : &s->from) = to;
    snprintf(s->place, sizeof s->place, "%s", at);
    return true;
}

/* The step that an edge refers to: a store or update. NO_STEP: there is none. */
#define NO_STEP (UINT32_MAX - 1)

static uint32_t step_at(const struct explore_failure *f, uint32_t edge)
{
    if (edge == UINT32_MAX)
        return UINT32_MAX;
    for (uint32_t i = 0; i < f->step_count; i++) {
        const struct explore_step *s = &f->step[i];
        if (s->thread == edge >> 24 && s->number == (edge & 0xffffff))
            return s->operation == EXPLORE_STORE || s->operation == EXPLORE_UPDATE ? i : NO_STEP;
    }
    return NO_STEP;
}

static enum strobe_status saved_resolve(struct reader *r)
{
    struct explore_failure *f = &r->out->failure;
    for (uint32_t i = 0; i < f->step_count; i++) {
        struct explore_step *s = &f->step[i];
        s->from = step_at(f, s->from);
        s->after = step_at(f, s->after);
        r->number = r->out->line[i];
        if (s->from == NO_STEP || (s->from != UINT32_MAX && s->from >= i))
            return saved_expected(r, "a store or an update that stands above");
        if (s->after == NO_STEP || s->after == i)
            return saved_expected(r, "another store or an update of this file");
    }
    return STROBE_OK;
}

static enum strobe_status read_steps(struct reader *r)
{
    struct explore_failure *f = &r->out->failure;
    uint32_t count = f->step_count, next[EXPLORE_THREADS_MAX] = {0};
    f->step = calloc(count + 1, sizeof *f->step);
    r->out->line = calloc(count + 1, sizeof *r->out->line);
    if (!f->step || !r->out->line)
        return STROBE_IO;
    for (uint32_t i = 0; i < count; i++) {
        struct explore_step *s = &f->step[i];
        bool more = saved_next_line(r);
        r->out->line[i] = r->number;
        if (!more || !read_step(r, s))
            return saved_expected(r, AN_OPERATION);
        if (s->number != next[s->thread]++)
            return saved_expected(r, "the operations of each thread to be numbered from 0 on");
    }
    if (saved_next_line(r) || !feof(r->in))
        return saved_expected(r, "the end of the file");
    return saved_resolve(r);
}

enum strobe_status explore_saved_read(const char *path, struct explore_saved *out, struct strobe_error *error)
{
    struct reader r = {.path = path, .out = out, .error = error};
    struct stat st;
    *out = (struct explore_saved){0};
    explore_options_default(&out->options);
    strobe_error_set(error, "%s: out of memory", path);
    r.in = fopen(path, "r");
    if (!r.in || fstat(fileno(r.in), &st) || !S_ISREG(st.st_mode)) {
        strobe_error_set(error, "%s: %s", path, r.in ? "expected a file" : strerror(errno));
        if (r.in)
            fclose(r.in);
        return STROBE_IO;
    }
    enum strobe_status status = read_head(&r);
    if (status == STROBE_OK)
        status = read_steps(&r);
    fclose(r.in);
    return status;
}

void explore_saved_free(struct explore_saved *saved)
{
    free(saved->program);
    free(saved->line);
    free(saved->failure.step);
    *saved = (struct explore_saved){0};
}

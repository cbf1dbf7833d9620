/* Prints a failure as a table: one line for each operation, one column for each thread.
 *
 * Operations on memory that only one thread uses are omitted, because no other thread can observe when they happen. */
#include "sim/explore/explore.h"
#include "sim/explore/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 120 };
#define NONE UINT32_MAX

/* ---- shown steps */

static bool step_has_place(const struct explore_step *s)
{
    return s->operation == EXPLORE_LOAD || s->operation == EXPLORE_STORE || s->operation == EXPLORE_UPDATE ||
           s->operation == EXPLORE_PLAIN_LOAD || s->operation == EXPLORE_PLAIN_STORE;
}

static bool is_shared(const struct explore_failure *f, const struct explore_step *s)
{
    for (uint32_t i = 0; i < f->step_count; i++) {
        const struct explore_step *other = &f->step[i];
        if (step_has_place(other) && other->thread != s->thread && other->thread != NONE &&
            !strcmp(other->place, s->place))
            return true;
    }
    return false;
}

/* The last operation of each thread is shown, because the thread is there when the execution fails. */
static bool is_last_of_thread(const struct explore_failure *f, uint32_t step)
{
    for (uint32_t i = step + 1; i < f->step_count; i++)
        if (f->step[i].thread == f->step[step].thread)
            return false;
    return true;
}

static void choose_shown(const struct explore_failure *f, bool *shown)
{
    for (uint32_t i = f->step_count; i-- > 0;) {
        const struct explore_step *s = &f->step[i];
        bool setup = s->thread == NONE;
        shown[i] |= !setup && is_last_of_thread(f, i);
        shown[i] |= !setup && step_has_place(s) && is_shared(f, s);
        shown[i] |= s->operation == EXPLORE_FENCE || s->operation == EXPLORE_CHOICE;
        if (shown[i] && s->from != NONE && s->from < i)
            shown[s->from] = true;
    }
}

/* ---- cells */

static int print_number(char *to, size_t bytes, uint64_t value)
{
    return snprintf(to, bytes, value < 100000 ? "%llu" : "0x%llx", (unsigned long long)value);
}

/* For a plain access only its occurrence is known. */
static bool step_is_plain(const struct explore_step *s)
{
    return s->operation == EXPLORE_PLAIN_LOAD || s->operation == EXPLORE_PLAIN_STORE;
}

static void print_value(const struct explore_step *s, char *to, size_t bytes)
{
    to[0] = 0;
    if (step_is_plain(s) || s->operation == EXPLORE_FENCE || s->operation == EXPLORE_BEGIN ||
        s->operation == EXPLORE_END)
        return;
    int n = 0;
    if (s->operation == EXPLORE_UPDATE) {
        n = print_number(to, bytes, s->old);
        n += snprintf(to + n, bytes - (size_t)n, " -> ");
    }
    print_number(to + n, bytes - (size_t)n, s->value);
}

static void print_from(const struct explore_step *s, char *to, size_t bytes)
{
    if (s->operation != EXPLORE_LOAD && s->operation != EXPLORE_UPDATE)
        to[0] = 0;
    else if (s->from == NONE)
        snprintf(to, bytes, "start%s", s->stale ? " (old)" : "");
    else
        snprintf(to, bytes, "#%u%s", s->from, s->stale ? " (old)" : "");
}

/* Prints the source of a step: the text of a litmus test, or file, line and source text. */
static void print_where(const struct explore_step *s, struct explore_sources *sources, char *to, size_t bytes)
{
    struct explore_source source;
    to[0] = 0;
    if (s->text) {
        snprintf(to, bytes, "%s", s->text);
        return;
    }
    explore_source_find(sources, s->site, &source);
    if (!source.line)
        return;
    const char *slash = strrchr(source.file, '/');
    char place[EXPLORE_SOURCE_FILE + 16];
    snprintf(place, sizeof place, "%s:%u", slash ? slash + 1 : source.file, source.line);
    snprintf(to, bytes, "%-18s %s", place, source.text);
}

/* ---- lines */

struct layout {
    int threads, place, value, from;
};

static int at_least(int width, const char *text)
{
    int n = (int)strlen(text);
    return n > width ? n : width;
}

static struct layout lay_out_table(const struct explore_failure *f, const bool *shown)
{
    struct layout l = {.threads = 6, .place = 5, .value = 5, .from = 10};
    char cell[64];
    for (uint32_t i = 0; i < f->step_count; i++) {
        const struct explore_step *s = &f->step[i];
        if (!shown[i])
            continue;
        if (s->thread != NONE && (int)(3 * s->thread + 3) > l.threads)
            l.threads = (int)(3 * s->thread + 3);
        l.place = at_least(l.place, s->place);
        print_value(s, cell, sizeof cell);
        l.value = at_least(l.value, cell);
        print_from(s, cell, sizeof cell);
        l.from = at_least(l.from, cell);
    }
    return l;
}

static void table_print_step(FILE *to, uint32_t index, const struct explore_step *s, const struct layout *l,
                             struct explore_sources *sources)
{
    char thread[32] = "setup", value[64], from[32], where[320], line[640];
    if (s->thread != NONE)
        snprintf(thread, sizeof thread, "%*sT%u", (int)(3 * s->thread), "", s->thread);
    print_value(s, value, sizeof value);
    print_from(s, from, sizeof from);
    print_where(s, sources, where, sizeof where);
    const char *order = s->operation == EXPLORE_CHOICE ? "" : explore_order_name(s);
    int n = snprintf(line, sizeof line, "  #%-4u %-*s %-7s %-8s %-*s %-*s %-*s %s", index, l->threads, thread,
                     explore_operation_name(s->operation), order, l->place, step_has_place(s) ? s->place : "", l->value,
                     value, l->from, from, where);
    if (n > COLUMNS)
        n = COLUMNS;
    while (n && line[n - 1] == ' ')
        n--;
    fprintf(to, "%.*s\n", n, line);
}

static void print_legend(FILE *to, const struct explore_failure *f, const bool *shown)
{
    uint32_t left_out = 0;
    bool old = false, start = false;
    for (uint32_t i = 0; i < f->step_count; i++) {
        const struct explore_step *s = &f->step[i];
        left_out += !shown[i] && s->thread != NONE && step_has_place(s);
        old |= shown[i] && s->stale;
        start |= shown[i] && s->from == NONE && (s->operation == EXPLORE_LOAD || s->operation == EXPLORE_UPDATE);
    }
    if (start)
        fputs("  start: what setup left there\n", to);
    if (old)
        fputs("  (old): a later store to the same place stands above; the memory model lets it be missed\n", to);
    if (left_out)
        fprintf(to, "  left out: %u operations on memory that one thread alone uses\n", left_out);
}

static void table_print_position(FILE *to, const char *what, struct explore_at at)
{
    if (at.thread)
        fprintf(to, "  thread %u %s before its operation %u\n", at.thread - 1, what, at.step);
}

/* Prints the other one of two racing accesses, because plain accesses are no steps. */
static void print_met(FILE *to, const struct explore_failure *f, struct explore_sources *sources)
{
    struct explore_source s;
    explore_source_find(sources, f->met, &s);
    const char *slash = strrchr(s.file, '/');
    fprintf(to, "  meets: T%u %s:%u %s\n", f->met_by, slash ? slash + 1 : s.file, s.line, s.text);
}

void explore_print_failure(FILE *to, const struct explore_failure *failure)
{
    fprintf(to, "%s: %s\n", explore_fault_name(failure->fault), failure->message);
    table_print_position(to, "frozen", failure->frozen);
    table_print_position(to, "interrupted", failure->interrupted);
    bool *shown = calloc(failure->step_count + 1, sizeof *shown);
    if (!shown || !failure->step_count) {
        free(shown);
        return;
    }
    choose_shown(failure, shown);
    struct explore_sources *sources = explore_sources_open();
    struct layout l = lay_out_table(failure, shown);
    fprintf(to, "  %-5s %-*s %-7s %-8s %-*s %-*s %-*s %s\n", "step", l.threads, "thread", "does", "order", l.place,
            "place", l.value, "value", l.from, "read from", "where");
    for (uint32_t i = 0; i < failure->step_count; i++)
        if (shown[i])
            table_print_step(to, i, &failure->step[i], &l, sources);
    if (failure->met)
        print_met(to, failure, sources);
    print_legend(to, failure, shown);
    explore_sources_close(sources);
    free(shown);
}

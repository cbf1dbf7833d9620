#include "engine/base/error_format.h"
#include "engine/util/outfile.h"
#include "sim/explore/saved.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns true for steps that are saved. Operations of the setup are initial values, begin and end are implied, and
 * operations that did not happen before the failure are not repeated. */
static bool is_step_saved(const struct explore_step *s)
{
    return s->thread != UINT32_MAX && s->when != UINT32_MAX && s->operation != EXPLORE_BEGIN &&
           s->operation != EXPLORE_END;
}

/* Returns the number of saved operations of the thread before step `index`. */
static uint32_t saved_number_of(const struct explore_failure *f, uint32_t index)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < index; i++)
        n += f->step[i].thread == f->step[index].thread && is_step_saved(&f->step[i]);
    return n;
}

static void print_edge(FILE *out, const struct explore_failure *f, const struct explore_step *s)
{
    bool stores = s->operation == EXPLORE_STORE, reads = s->operation == EXPLORE_LOAD || s->operation == EXPLORE_UPDATE;
    uint32_t to = stores ? s->after : s->from;
    while (to < f->step_count && !is_step_saved(&f->step[to]))
        to = f->step[to].operation == EXPLORE_UPDATE ? f->step[to].from : f->step[to].after;
    if (!stores && !reads)
        fputs(" -", out);
    else if (to >= f->step_count)
        fputs(" start", out);
    else
        fprintf(out, " %u.%u", f->step[to].thread, saved_number_of(f, to));
}

static void save_position(FILE *out, const char *what, struct explore_at at)
{
    if (at.thread)
        fprintf(out, "%s %u %u\n", what, at.thread - 1, at.step);
    else
        fprintf(out, "%s none\n", what);
}

static void save_step(FILE *out, const struct explore_failure *f, uint32_t index)
{
    const struct explore_step *s = &f->step[index];
    fprintf(out, "%u.%u %s %s %u 0x%llx", s->thread, saved_number_of(f, index), explore_operation_name(s->operation),
            explore_order_name(s), s->bytes, (unsigned long long)s->value);
    print_edge(out, f, s);
    fprintf(out, " %s\n", s->place[0] ? s->place : "-");
}

static const struct explore_step *sorted; /* qsort's comparison function has no argument for it */

static int by_time(const void *a, const void *b)
{
    uint32_t x = sorted[*(const uint32_t *)a].when, y = sorted[*(const uint32_t *)b].when;
    return x < y ? -1 : x > y;
}

/* Writes the operations in the order in which they were run, because memory that was freed and allocated again depends
 * on it, and no edge records it. */
static bool save_failure(FILE *out, const char *program, const struct explore_options *o,
                         const struct explore_failure *f)
{
    uint32_t kept = 0, *order = calloc(f->step_count + 1, sizeof *order);
    if (!order)
        return false;
    for (uint32_t i = 0; i < f->step_count; i++)
        if (is_step_saved(&f->step[i]))
            order[kept++] = i;
    sorted = f->step;
    qsort(order, kept, sizeof *order, by_time);
    fprintf(out, "strobe explore 1\nprogram %s\nmemory %s\nsize %u\nspurious %s\nsteps %u\n", program,
            explore_memory_name(o->memory), f->size, o->spurious ? "yes" : "no", o->steps_max);
    save_position(out, "frozen", f->frozen);
    save_position(out, "interrupted", f->interrupted);
    fprintf(out, "fault %s\nmessage %s\noperations %u\n", explore_fault_name(f->fault), f->message, kept);
    for (uint32_t i = 0; i < kept; i++)
        save_step(out, f, order[i]);
    free(order);
    return true;
}

enum strobe_status explore_save(const char *path, bool force, const struct explore_program *program,
                                const struct explore_options *options, const struct explore_result *result,
                                struct strobe_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    struct strobe_outfile file;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) {
        strobe_error_set(error, "%s: out of memory", path);
        return STROBE_IO;
    }
    bool printed = save_failure(out, program->name, options, &result->failure);
    enum strobe_status status = fclose(out) || !printed ? STROBE_IO : strobe_outfile_open(&file, path, force);
    if (status == STROBE_OK) {
        strobe_outfile_write(&file, text, bytes);
        status = strobe_outfile_finish(&file, 0);
    }
    free(text);
    if (status == STROBE_EXISTS)
        strobe_error_set(error, "%s: exists already", path);
    else if (status != STROBE_OK)
        strobe_error_set(error, "%s: cannot write: %s", path, strerror(errno));
    return status;
}

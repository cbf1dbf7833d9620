#include "engine/trace/export/btrace2_write.h"

#include "engine/trace/import/matrix/matrix.h"

#include <stdlib.h>
#include <string.h>

struct ended {
    uint64_t end_ns;
    size_t order;
    struct strobe_btrace2_record record;
};

struct work {
    const struct strobe_calls *calls;
    struct ended *ended;
    size_t count;
    size_t *stack;
};

static int by_end(const void *left, const void *right)
{
    const struct ended *a = left, *b = right;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static bool collect_ended(struct work *w, const struct strobe_calls_thread *t)
{
    size_t depth = 0;
    for (size_t i = 0; i < t->call_count; i++) {
        const struct strobe_call *e = &t->calls[i], *begin;
        if (e->what == STROBE_CALL_BEGIN) {
            w->stack[depth++] = i;
            continue;
        }
        if (e->what != STROBE_CALL_END || !depth || (begin = &t->calls[w->stack[--depth]])->name != e->name)
            return false;
        w->ended[w->count] =
            (struct ended){e->time_ns,
                           w->count,
                           {begin->time_ns - w->calls->begin_ns, e->time_ns - begin->time_ns, t->tid, e->name + 1}};
        w->count++;
    }
    return !depth;
}

static void write_little_endian(struct strobe_outfile *out, uint64_t value, unsigned bytes)
{
    uint8_t little[8];
    for (unsigned i = 0; i < bytes; i++)
        little[i] = (uint8_t)(value >> 8 * i);
    strobe_outfile_write(out, little, bytes);
}

static void write_log(const struct work *w, uint64_t bytes_max, struct strobe_outfile *log,
                      struct strobe_btrace2_written *stats)
{
    write_little_endian(log, STROBE_BTRACE2_VERSION, 4);
    write_little_endian(log, w->calls->pid, 4);
    for (unsigned i = 0; i < 3; i++)
        write_little_endian(log, w->calls->begin_ns, 8);
    for (size_t i = 0; i < w->count; i++) {
        uint64_t word[2], offset = STROBE_BTRACE2_HEADER_BYTES + stats->records * STROBE_BTRACE2_RECORD_BYTES;
        if (!strobe_btrace2_pack(&w->ended[i].record, word)) {
            stats->refused++;
        } else if (bytes_max && offset + STROBE_BTRACE2_RECORD_BYTES >= bytes_max) {
            stats->dropped++;
        } else {
            write_little_endian(log, word[0], 8);
            write_little_endian(log, word[1], 8);
            stats->records++;
        }
    }
}

/* Returns true if a mapping can contain the name unchanged. */
static bool is_mappable(const char *name)
{
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == ',' || *p == '/' || *p == '~' || *p == 0x7f)
            return false;
    return name[0] && strncmp(name, "-.", 2) != 0;
}

/* Returns the dot between class and method, ignoring dots of arguments in brackets. NULL: there is no class. */
static const char *last_dot(const char *name)
{
    size_t bytes = strcspn(name, "(");
    while (bytes && name[bytes - 1] != '.')
        bytes--;
    return bytes > 1 && name[bytes] && name[bytes] != '(' ? name + bytes - 1 : NULL;
}

static bool write_mapping(const struct strobe_calls *c, struct strobe_outfile *mapping)
{
    uint8_t *used = strobe_calls_used(c);
    if (!used)
        return false;
    for (size_t i = 0; i < c->names.count && i < STROBE_MATRIX_ID_MAX; i++) {
        if (!used[i])
            continue;
        const char *name = c->names.texts[i], *dot = last_dot(name);
        bool mappable = is_mappable(name);
        strobe_outfile_number(mapping, i + 1);
        strobe_outfile_text(mapping, mappable && dot ? ",1," : ",1,- ");
        for (const char *p = name; mappable && *p; p++)
            strobe_outfile_write(mapping, p == dot ? " " : p, 1);
        for (const char *p = name; !mappable && *p; p++)
            strobe_outfile_write(mapping, (unsigned char)*p <= ' ' || strchr(",/~\x7f", *p) ? "_" : p, 1);
        if (!mappable) {
            strobe_outfile_text(mapping, "~");
            strobe_outfile_number(mapping, i + 1);
        }
        strobe_outfile_text(mapping, "\n");
    }
    free(used);
    return true;
}

enum strobe_status strobe_btrace2_write(const struct strobe_calls *calls, uint64_t bytes_max,
                                        struct strobe_outfile *log, struct strobe_outfile *mapping,
                                        struct strobe_btrace2_written *stats)
{
    struct strobe_btrace2_written unasked;
    struct work w = {.calls = calls};
    size_t events = 0, most = 0;
    stats = stats ? stats : &unasked;
    *stats = (struct strobe_btrace2_written){0};
    for (size_t i = 0; i < calls->thread_count; i++) {
        events += calls->threads[i].call_count;
        most = calls->threads[i].call_count > most ? calls->threads[i].call_count : most;
    }
    w.ended = malloc((events / 2 + 1) * sizeof *w.ended);
    w.stack = malloc((most + 1) * sizeof *w.stack);
    enum strobe_status status = w.ended && w.stack ? STROBE_OK : STROBE_IO;
    for (size_t i = 0; i < calls->thread_count && status == STROBE_OK; i++)
        status = collect_ended(&w, &calls->threads[i]) ? STROBE_OK : STROBE_BAD_INPUT;
    if (status == STROBE_OK) {
        qsort(w.ended, w.count, sizeof *w.ended, by_end);
        write_log(&w, bytes_max, log, stats);
        if (mapping && !write_mapping(calls, mapping))
            status = STROBE_IO;
    }
    free(w.ended);
    free(w.stack);
    return status;
}

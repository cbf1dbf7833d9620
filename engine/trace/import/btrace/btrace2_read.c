#include "engine/trace/import/btrace/btrace2_read.h"
#include "engine/base/error_format.h"
#include "engine/util/idmap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMELESS (UINT32_C(1) << 31)

/* A logged call. Times are in ns; the start is not clamped yet. */
struct logged {
    int64_t start;
    uint64_t begin, end;
    uint32_t tid, method;
    size_t place; /* position in the log */
};

struct import {
    const struct strobe_btrace2_options *options;
    struct strobe_btrace2_stats *stats;
    struct strobe_calls *calls;
    struct logged *logged;
    size_t count;
    struct strobe_idmap names; /* method -> number of its name, with NAMELESS for a synthesized name */
};

int64_t strobe_btrace2_shift(const struct strobe_btrace2_header *h, uint64_t system_ns)
{
    const int64_t same_ns = 1000000;
    int64_t apart = (int64_t)(h->boottime_ns - h->first_ns);
    uint64_t to_mono = system_ns > h->first_ns ? system_ns - h->first_ns : h->first_ns - system_ns;
    uint64_t to_boot = system_ns > h->boottime_ns ? system_ns - h->boottime_ns : h->boottime_ns - system_ns;
    if (!system_ns || (apart < same_ns && apart > -same_ns) || to_mono <= to_boot)
        return 0;
    return apart;
}

static uint64_t read_little_endian(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = bytes; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

static enum strobe_status read_btrace2_header(const uint8_t *p, size_t bytes, struct strobe_btrace2_header *h,
                                              struct strobe_error *error)
{
    if (bytes < STROBE_BTRACE2_HEADER_BYTES) {
        strobe_error_set(error, "ends within its header, after %zu of %d bytes", bytes, STROBE_BTRACE2_HEADER_BYTES);
        return STROBE_TRUNCATED;
    }
    *h = (struct strobe_btrace2_header){(uint32_t)read_little_endian(p, 4), (uint32_t)read_little_endian(p + 4, 4),
                                        read_little_endian(p + 8, 8), read_little_endian(p + 16, 8),
                                        read_little_endian(p + 24, 8)};
    if (h->version != STROBE_BTRACE2_VERSION) {
        strobe_error_set(error, "byte 0: version %u, expected a btrace 2.0 log, which has version %d", h->version,
                         STROBE_BTRACE2_VERSION);
        return STROBE_BAD_VERSION;
    }
    if (h->first_ns > INT64_MAX / 2 || h->boottime_ns > INT64_MAX / 2 || h->begin_ns > INT64_MAX / 2) {
        strobe_error_set(error, "byte 8: expected times in ns since the machine was started, not centuries");
        return STROBE_BAD_INPUT;
    }
    return STROBE_OK;
}

/* Adds the call of a record, unless it ended before the trace began. */
static void take(struct import *m, const uint64_t word[2], size_t place)
{
    struct strobe_btrace2_record r;
    strobe_btrace2_unpack(word, &r);
    const struct strobe_btrace2_header *h = &m->stats->header;
    int64_t shift = m->stats->shift_ns, start = strobe_btrace2_start(&r);
    int64_t begin = (int64_t)h->first_ns + start, end = begin + (int64_t)r.duration_ns, from = (int64_t)h->begin_ns;
    m->stats->records++;
    m->stats->negative += start < 0;
    if (end < from || end < 0) {
        m->stats->early++;
        return;
    }
    m->stats->clamped += begin < from;
    m->logged[m->count++] = (struct logged){
        begin, (uint64_t)((begin < from ? from : begin) + shift), (uint64_t)(end + shift), r.tid, r.method, place};
}

/* Orders calls by thread, and callers before their callees. */
static int by_nesting(const void *left, const void *right)
{
    const struct logged *a = left, *b = right;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return a->place > b->place ? -1 : 1;
}

/* Adds "class method desc" as `class.method`. Returns the number of the name. */
static uint32_t mapped_name(struct import *m, const char *mapped)
{
    bool classless = !strncmp(mapped, "- ", 2);
    const char *method = strchr(mapped, ' '), *from = classless ? method + 1 : mapped;
    size_t bytes = (size_t)(method - from) * !classless, more = method ? strcspn(method + 1, " ") : 0;
    char *name = malloc(bytes + more + 2);
    if (!name || !method) {
        m->calls->failed |= !name;
        free(name);
        return 0;
    }
    memcpy(name, from, bytes);
    if (!classless)
        name[bytes++] = '.';
    memcpy(name + bytes, method + 1, more);
    uint32_t number = strobe_calls_name(m->calls, name, bytes + more);
    free(name);
    return number;
}

/* Returns the number of the method's name, with NAMELESS for a synthesized name. */
static uint32_t number_method_name(struct import *m, uint32_t method)
{
    char made[32];
    int fresh = 0;
    uint32_t *place = strobe_idmap_put(&m->names, method, 0, &fresh);
    m->calls->failed |= !place;
    if (place && fresh) {
        const struct strobe_matrix_method *known = NULL;
        const char *name = m->options->name ? m->options->name(m->options->ctx, method) : NULL;
        if (!name && m->options->map)
            known = strobe_matrix_map_of(m->options->map, method);
        m->stats->methods++;
        m->stats->nameless += !name && !known;
        snprintf(made, sizeof made, "method %u", method);
        *place = name    ? strobe_calls_name(m->calls, name, strlen(name))
                 : known ? mapped_name(m, known->name)
                         : strobe_calls_name(m->calls, made, strlen(made)) | NAMELESS;
    }
    return place ? *place : 0;
}

/* Returns true if `call` comes after the end of `top`. A call that begins exactly at the end of `top` is nevertheless
 * within it if it was logged earlier, because callees are logged first. */
static bool is_behind(const struct logged *top, const struct logged *call)
{
    return call->begin > top->end || (call->begin == top->end && call->place > top->place);
}

/* Adds the calls of one thread, [at, end) in order of nesting. `stack` has space for all of them. */
static void add_thread_calls(struct import *m, size_t at, size_t end, size_t *stack)
{
    uint32_t thread = strobe_calls_thread(m->calls, m->logged[at].tid);
    size_t depth = 0;
    for (; at <= end; at++) {
        struct logged *call = at < end ? &m->logged[at] : NULL;
        while (depth && (!call || is_behind(&m->logged[stack[depth - 1]], call))) {
            const struct logged *top = &m->logged[stack[--depth]];
            strobe_calls_add(m->calls, thread, STROBE_CALL_END, top->end,
                             number_method_name(m, top->method) & ~NAMELESS);
        }
        if (!call)
            return;
        if (depth && call->end > m->logged[stack[depth - 1]].end) {
            call->end = m->logged[stack[depth - 1]].end;
            m->stats->cut++;
        }
        uint32_t name = number_method_name(m, call->method);
        strobe_calls_add(m->calls, thread, STROBE_CALL_BEGIN, call->begin, name & ~NAMELESS);
        m->stats->nameless_calls += name >= NAMELESS;
        stack[depth++] = at;
    }
}

static bool read_btrace2_records(struct import *m, const uint8_t *p, size_t bytes)
{
    size_t count = bytes / STROBE_BTRACE2_RECORD_BYTES;
    m->stats->tail_bytes = bytes % STROBE_BTRACE2_RECORD_BYTES;
    m->logged = malloc((count + 1) * sizeof *m->logged);
    size_t *stack = malloc((count + 1) * sizeof *stack);
    bool ok = m->logged && stack;
    for (size_t i = 0; ok && i < count; i++) {
        uint64_t word[2] = {read_little_endian(p + i * 16, 8), read_little_endian(p + i * 16 + 8, 8)};
        if (word[1])
            take(m, word, i);
        else
            m->stats->unused++;
    }
    if (ok && m->count)
        qsort(m->logged, m->count, sizeof *m->logged, by_nesting);
    for (size_t at = 0, end; ok && at < m->count; at = end) {
        for (end = at + 1; end < m->count && m->logged[end].tid == m->logged[at].tid;)
            end++;
        add_thread_calls(m, at, end, stack);
    }
    free(stack);
    strobe_idmap_free(&m->names);
    free(m->logged);
    return ok && !m->calls->failed;
}

enum strobe_status strobe_btrace2_read(const void *log, size_t bytes, const struct strobe_btrace2_options *options,
                                       struct strobe_calls *out, struct strobe_btrace2_stats *stats,
                                       struct strobe_error *error)
{
    struct strobe_btrace2_stats unasked;
    struct import m = {.options = options, .stats = stats ? stats : &unasked, .calls = out};
    *m.stats = (struct strobe_btrace2_stats){0};
    strobe_calls_open(out);
    enum strobe_status status = read_btrace2_header(log, bytes, &m.stats->header, error);
    if (status != STROBE_OK)
        return status;
    m.stats->shift_ns = strobe_btrace2_shift(&m.stats->header, options->system_ns);
    out->pid = m.stats->header.pid;
    snprintf(out->process, sizeof out->process, "process %u", out->pid);
    if (read_btrace2_records(&m, (const uint8_t *)log + STROBE_BTRACE2_HEADER_BYTES,
                             bytes - STROBE_BTRACE2_HEADER_BYTES))
        return STROBE_OK;
    strobe_error_set(error, "%s", strerror(ENOMEM));
    return STROBE_IO;
}

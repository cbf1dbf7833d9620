#include "engine/trace/import/artrace/art_trace_read.h"
#include "engine/base/error_format.h"

#include "engine/util/array.h"
#include "engine/util/cursor.h"
#include "engine/util/idmap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 16, STREAMED = 0xf0, NAME_BYTES_MAX = 4096 };
enum { ENTERED, LEFT, UNROLLED };
enum { NEW_METHOD = 1, NEW_THREAD, SUMMARY };
static const char slow[] = "SLOW";

struct art_trace {
    struct strobe_calls *calls;
    struct strobe_art_trace_stats *stats;
    const uint8_t *begin, *at, *end;
    uint64_t begin_us;
    unsigned tid_bytes, clocks;
    struct strobe_idmap method_of; /* id -> number of its name */
    uint32_t last_tid, last_thread;
    bool has_thread;
};

static uint64_t little_endian_at(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* ---- the text */

static struct strobe_cursor take_tabbed(struct strobe_cursor *line)
{
    const char *tab = memchr(line->at, '\t', (size_t)(line->end - line->at));
    struct strobe_cursor part = {line->at, tab ? tab : line->end};
    line->at = tab ? tab + 1 : line->end;
    return part;
}

static size_t append_part(char *out, size_t used, struct strobe_cursor part, bool dots)
{
    for (; part.at < part.end && used < NAME_BYTES_MAX; part.at++)
        out[used++] = dots && *part.at == '/' ? '.' : *part.at;
    return used;
}

static void keep_method(struct art_trace *t, uint32_t id, const char *name, size_t bytes)
{
    int fresh;
    uint32_t *place = strobe_idmap_put(&t->method_of, id, 0, &fresh);
    if (!place)
        t->calls->failed = true;
    else
        *place = strobe_calls_name(t->calls, name, bytes);
}

/* Takes a line of a method. */
static void take_art_method(struct art_trace *t, struct strobe_cursor line)
{
    struct strobe_cursor id = take_tabbed(&line), class = take_tabbed(&line), method = take_tabbed(&line),
                         signature = take_tabbed(&line);
    char name[NAME_BYTES_MAX + 1];
    uint64_t number;
    strobe_cursor_take(&id, "0x");
    if (!strobe_cursor_take_hex(&id, &number) || number > UINT32_MAX || class.at == class.end)
        return;
    size_t bytes = append_part(name, 0, class, true);
    bytes = append_part(name, bytes, strobe_cursor(".", method.at < method.end ? 1 : 0), false);
    bytes = append_part(name, bytes, method, false);
    bytes = append_part(name, bytes, signature, false);
    keep_method(t, (uint32_t)number & ~3u, name, bytes);
}

static void name_art_thread(struct art_trace *t, uint32_t tid, struct strobe_cursor name)
{
    uint32_t thread = strobe_calls_thread(t->calls, tid);
    size_t bytes = (size_t)(name.end - name.at), most = sizeof t->calls->threads->name - 1;
    if (thread == UINT32_MAX || !bytes)
        return;
    char *to = t->calls->threads[thread].name;
    bytes = bytes < most ? bytes : most;
    memcpy(to, name.at, bytes);
    to[bytes] = '\0';
}

static void take_art_thread(struct art_trace *t, struct strobe_cursor line)
{
    uint64_t tid;
    if (strobe_cursor_take_number(&line, UINT32_MAX - 1, &tid) && strobe_cursor_take(&line, "\t"))
        name_art_thread(t, (uint32_t)tid, line);
}

static void take_art_option(struct art_trace *t, struct strobe_cursor line)
{
    uint64_t number;
    if (strobe_cursor_take(&line, "clock=thread-cpu"))
        t->stats->cpu_clock = true;
    else if (strobe_cursor_take(&line, "data-file-overflow=true"))
        t->stats->overflow = true;
    else if (strobe_cursor_take(&line, "pid=") && strobe_cursor_take_number(&line, UINT32_MAX, &number))
        t->calls->pid = (uint32_t)number;
}

/* Reads the text up to "*end". Returns the place behind it, or NULL when it has no end. */
static const char *read_art_text(struct art_trace *t, struct strobe_cursor text)
{
    void (*take)(struct art_trace *, struct strobe_cursor) = take_art_option;
    struct strobe_cursor line;
    while (strobe_cursor_take_line(&text, &line)) {
        if (strobe_cursor_take(&(struct strobe_cursor){line.at, line.end}, "*end"))
            return text.at;
        if (strobe_cursor_take(&(struct strobe_cursor){line.at, line.end}, "*threads"))
            take = take_art_thread;
        else if (strobe_cursor_take(&(struct strobe_cursor){line.at, line.end}, "*methods"))
            take = take_art_method;
        else
            take(t, line);
    }
    return NULL;
}

/* ---- records */

static uint32_t name_of_id(struct art_trace *t, uint32_t id)
{
    char name[32];
    const uint32_t *known = strobe_idmap_get(&t->method_of, id, 0);
    if (known)
        return *known;
    t->stats->nameless++;
    int bytes = snprintf(name, sizeof name, "method 0x%" PRIx32, id);
    keep_method(t, id, name, (size_t)bytes);
    known = strobe_idmap_get(&t->method_of, id, 0);
    return known ? *known : STROBE_CALL_ANY;
}

static uint32_t thread_of_tid_in(struct art_trace *t, uint32_t tid)
{
    if (!t->has_thread || t->last_tid != tid)
        t->last_thread = strobe_calls_thread(t->calls, tid);
    t->has_thread = true;
    t->last_tid = tid;
    return t->last_thread;
}

static void take_art_record(struct art_trace *t)
{
    uint32_t tid = (uint32_t)little_endian_at(t->at, t->tid_bytes);
    uint32_t value = (uint32_t)little_endian_at(t->at + t->tid_bytes, 4);
    uint64_t us = little_endian_at(t->at + t->tid_bytes + 4 + 4 * (t->clocks - 1), 4);
    uint32_t thread = thread_of_tid_in(t, tid);
    t->stats->records++;
    if ((value & 3) > UNROLLED) {
        t->stats->unknown++;
        return;
    }
    if (thread != UINT32_MAX)
        strobe_calls_add(t->calls, thread, (value & 3) == ENTERED ? STROBE_CALL_BEGIN : STROBE_CALL_END,
                         (t->begin_us + us) * 1000, name_of_id(t, value & ~3u));
}

/* Takes what a streamed trace has between records. Returns its bytes; 0: it is not complete, or the trace has ended. */
static size_t take_art_packet(struct art_trace *t)
{
    size_t left = (size_t)(t->end - t->at);
    const char *text = (const char *)t->at;
    if (left < 7)
        return 0;
    size_t head = t->at[2] == NEW_METHOD ? 5 : 7;
    size_t bytes = (size_t)(t->at[2] == NEW_METHOD   ? little_endian_at(t->at + 3, 2)
                            : t->at[2] == NEW_THREAD ? little_endian_at(t->at + 5, 2)
                                                     : little_endian_at(t->at + 3, 4));
    if (bytes > left - head || t->at[2] < NEW_METHOD || t->at[2] > SUMMARY)
        return 0;
    struct strobe_cursor content = {text + head, text + head + bytes};
    if (t->at[2] == NEW_METHOD) {
        while (content.end > content.at && content.end[-1] == '\n')
            content.end--;
        take_art_method(t, content);
    } else if (t->at[2] == NEW_THREAD) {
        name_art_thread(t, (uint32_t)little_endian_at(t->at + 3, 2), content);
    } else {
        read_art_text(t, content);
    }
    return head + bytes;
}

static void read_art_records(struct art_trace *t)
{
    size_t record = t->tid_bytes + 4 + 4 * (size_t)t->clocks;
    while (t->at < t->end && !t->calls->failed) {
        size_t bytes = record;
        bool packet = t->stats->streamed && t->end - t->at >= 3 && !little_endian_at(t->at, 2);
        if (packet)
            bytes = take_art_packet(t);
        else if ((size_t)(t->end - t->at) >= record)
            take_art_record(t);
        else
            bytes = 0;
        if (!bytes)
            break;
        t->at += bytes;
    }
    t->stats->tail_bytes = (uint64_t)(t->end - t->at);
}

/* ---- the file */

static enum strobe_status read_art_header(struct art_trace *t, struct strobe_error *error)
{
    size_t place = (size_t)(t->at - t->begin), left = (size_t)(t->end - t->at);
    if (left < HEADER_BYTES + 2) {
        strobe_error_set(error, "byte %zu: expected the header of the records, %d bytes", place, HEADER_BYTES + 2);
        return STROBE_TRUNCATED;
    }
    if (memcmp(t->at, slow, 4) != 0) {
        strobe_error_set(error, "byte %zu: expected SLOW, with which the records of a method trace begin", place);
        return STROBE_BAD_INPUT;
    }
    uint32_t version = (uint32_t)little_endian_at(t->at + 4, 2), offset = (uint32_t)little_endian_at(t->at + 6, 2);
    t->stats->streamed = (version & STREAMED) == STREAMED;
    version &= ~(uint32_t)STREAMED;
    if (version < 1 || version > 3) {
        strobe_error_set(error, "byte %zu: version %" PRIu32 ", expected 1 to 3, or 241 to 243", place + 4,
                         (uint32_t)little_endian_at(t->at + 4, 2));
        return STROBE_BAD_VERSION;
    }
    if (offset < HEADER_BYTES || offset > left) {
        strobe_error_set(error, "byte %zu: a header of %" PRIu32 " bytes, expected %d to %zu", place + 6, offset,
                         HEADER_BYTES, left);
        return STROBE_BAD_INPUT;
    }
    uint32_t record = version == 3 ? (uint32_t)little_endian_at(t->at + HEADER_BYTES, 2) : 0;
    if (version == 3 && record != 10 && record != 14) {
        strobe_error_set(error, "byte %zu: records of %" PRIu32 " bytes, expected 10 or 14", place + HEADER_BYTES,
                         record);
        return STROBE_BAD_INPUT;
    }
    t->stats->version = version;
    t->tid_bytes = version == 1 ? 1 : 2;
    t->clocks = record == 14 ? 2 : 1;
    t->begin_us = little_endian_at(t->at + 8, 8);
    t->begin_us = t->begin_us < (uint64_t)1 << 50 ? t->begin_us : 0;
    t->at += offset;
    return STROBE_OK;
}

static enum strobe_status read_art_trace(struct art_trace *t, struct strobe_error *error)
{
    size_t bytes = (size_t)(t->end - t->begin);
    struct strobe_cursor text = strobe_cursor((const char *)t->begin, bytes);
    if (strobe_cursor_take(&(struct strobe_cursor){text.at, text.end}, "*version")) {
        const char *behind = read_art_text(t, text);
        if (!behind) {
            strobe_error_set(error, "byte %zu: expected the rest of the text, up to *end", bytes);
            return STROBE_TRUNCATED;
        }
        t->at = (const uint8_t *)behind;
    } else if (bytes < 4 || memcmp(t->begin, slow, 4) != 0) {
        strobe_error_set(error, "byte 0: expected *version or SLOW, with which a method trace of Android begins");
        return STROBE_BAD_INPUT;
    }
    enum strobe_status status = read_art_header(t, error);
    if (status != STROBE_OK)
        return status;
    read_art_records(t);
    return STROBE_OK;
}

enum strobe_status strobe_art_trace_read(const void *trace, size_t bytes, struct strobe_calls *out,
                                         struct strobe_art_trace_stats *stats, struct strobe_error *error)
{
    *stats = (struct strobe_art_trace_stats){0};
    strobe_calls_open(out);
    struct art_trace t = {.calls = out, .stats = stats, .begin = trace, .at = trace};
    t.end = t.begin + bytes;
    enum strobe_status status = read_art_trace(&t, error);
    strobe_idmap_free(&t.method_of);
    snprintf(out->process, sizeof out->process, "process %" PRIu32, out->pid);
    for (size_t i = 0; i < out->thread_count; i++)
        out->threads[i].is_main |= !strcmp(out->threads[i].name, "main");
    return status == STROBE_OK && out->failed ? STROBE_IO : status;
}

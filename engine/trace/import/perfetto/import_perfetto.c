#include "engine/trace/import/perfetto/import_perfetto.h"
#include "engine/base/error_format.h"

#include "engine/trace/import/perfetto/import_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { INFLATED_BYTES_MAX = 64 << 20 };

/* The fields of one packet, which may come in any order. */
struct packet {
    uint64_t timestamp;
    uint32_t clock, sequence, flags;
    int has_timestamp;
    struct strobe_proto event, interned, defaults, track, clocks, perf_sample, deflated;
};

/* The fields of one track event. */
struct event {
    unsigned type;
    uint64_t track, name_iid, category_iid;
    struct strobe_proto name, category;
    int64_t counter;
    double real_counter;
    int has_counter, has_real_counter;
    uint64_t values[STROBE_EXTRA_COUNTERS_MAX], extra[STROBE_EXTRA_COUNTERS_MAX];
    uint32_t value_count, extra_count;
};

static const struct strobe_proto none = {NULL, NULL};

/* ---- tracks */

static const char *keep_proto_text(struct strobe_import *m, struct strobe_proto text)
{
    const char *kept = strobe_text_keep(&m->texts, text.at, (size_t)(text.end - text.at));
    return kept ? kept : "";
}

/* Reads pid, tid and name of a ThreadDescriptor (fields 1, 2, 5) or ProcessDescriptor (1, -, 6). */
static enum strobe_status read_identity(struct strobe_import *m, struct strobe_proto d, uint32_t name_field,
                                        uint64_t id[2], struct strobe_proto *name)
{
    struct strobe_proto_field f;
    enum strobe_proto_step step;
    while ((step = strobe_proto_next(&d, &f)) == STROBE_PROTO_FIELD) {
        if ((f.number == 1 || f.number == 2) && f.wire == STROBE_WIRE_VARINT)
            id[f.number - 1] = f.value;
        else if (f.number == name_field && f.wire == STROBE_WIRE_BYTES)
            *name = f.bytes;
    }
    return step == STROBE_PROTO_BAD ? strobe_import_bad_field(m, &d, "a thread or process") : STROBE_OK;
}

static enum strobe_status read_counter_descriptor(struct strobe_import *m, struct strobe_proto d,
                                                  struct strobe_track *t)
{
    struct strobe_proto_field f;
    enum strobe_proto_step step;
    static const char *const units[] = {"", "ns", "count", "bytes"};
    while ((step = strobe_proto_next(&d, &f)) == STROBE_PROTO_FIELD) {
        if (f.number == 1 && f.wire == STROBE_WIRE_VARINT)
            t->thread_time = f.value == 1;
        else if (f.number == 3 && f.wire == STROBE_WIRE_VARINT)
            t->unit = f.value < 4 ? units[f.value] : "";
        else if (f.number == 4 && f.wire == STROBE_WIRE_VARINT)
            t->multiplier = f.value ? f.value : 1;
        else if (f.number == 5 && f.wire == STROBE_WIRE_VARINT)
            t->incremental = f.value != 0;
        else if (f.number == 6 && f.wire == STROBE_WIRE_BYTES)
            t->unit = keep_proto_text(m, f.bytes);
    }
    return step == STROBE_PROTO_BAD ? strobe_import_bad_field(m, &d, "a counter") : STROBE_OK;
}

static enum strobe_status emit_thread(struct strobe_import *m, struct strobe_track *t, struct strobe_proto thread)
{
    uint64_t id[2] = {0, 0};
    struct strobe_proto name = none;
    enum strobe_status status = read_identity(m, thread, 5, id, &name);
    if (status != STROBE_OK || t->kind == STROBE_TRACK_THREAD)
        return status;
    t->kind = STROBE_TRACK_THREAD;
    t->thread = m->thread_count++;
    if (m->visitor->thread)
        m->visitor->thread(m->ctx, t->thread, (uint32_t)id[0], (uint32_t)id[1], keep_proto_text(m, name));
    return STROBE_OK;
}

static enum strobe_status emit_process(struct strobe_import *m, struct strobe_track *t, struct strobe_proto process)
{
    uint64_t id[2] = {0, 0};
    struct strobe_proto name = none;
    enum strobe_status status = read_identity(m, process, 6, id, &name);
    if (status != STROBE_OK)
        return status;
    if (t->kind == STROBE_TRACK_OTHER)
        t->kind = STROBE_TRACK_PROCESS;
    if (m->visitor->process)
        m->visitor->process(m->ctx, (uint32_t)id[0], keep_proto_text(m, name));
    return STROBE_OK;
}

static int is_process(const struct strobe_track *t)
{
    return t && t->kind == STROBE_TRACK_PROCESS;
}

static enum strobe_status read_track(struct strobe_import *m, struct strobe_proto d)
{
    struct strobe_proto_field f;
    enum strobe_proto_step step;
    struct strobe_proto thread = none, process = none, counter = none, name = none;
    uint64_t uuid = 0, parent = 0;
    while ((step = strobe_proto_next(&d, &f)) == STROBE_PROTO_FIELD) {
        if (f.wire == STROBE_WIRE_VARINT)
            *(f.number == 1 ? &uuid : f.number == 5 ? &parent : &f.value) = f.value;
        else if (f.wire == STROBE_WIRE_BYTES)
            *(f.number == 2   ? &name
              : f.number == 3 ? &process
              : f.number == 4 ? &thread
              : f.number == 8 ? &counter
                              : &f.bytes) = f.bytes;
    }
    if (step == STROBE_PROTO_BAD)
        return strobe_import_bad_field(m, &d, "a track descriptor");
    struct strobe_track *t = strobe_import_track(m, uuid, 1);
    if (!t)
        return strobe_import_no_memory(m);
    t->parent = parent;
    t->name = keep_proto_text(m, name);
    if (counter.at) {
        t->kind = STROBE_TRACK_COUNTER;
        return read_counter_descriptor(m, counter, t);
    }
    if (thread.at || process.at)
        return thread.at ? emit_thread(m, t, thread) : emit_process(m, t, process);
    if (t->kind == STROBE_TRACK_OTHER && is_process(strobe_import_track(m, parent, 0)))
        t->kind = STROBE_TRACK_OF_PROCESS;
    return STROBE_OK;
}

static enum strobe_status read_defaults(struct strobe_import *m, struct strobe_sequence *s, struct strobe_proto d)
{
    struct strobe_proto_field f, g;
    enum strobe_proto_step step;
    while ((step = strobe_proto_next(&d, &f)) == STROBE_PROTO_FIELD) {
        if (f.number == 58 && f.wire == STROBE_WIRE_VARINT)
            s->default_clock = (uint32_t)f.value;
        if (f.number != 11 || f.wire != STROBE_WIRE_BYTES)
            continue;
        s->extra_count = 0;
        while ((step = strobe_proto_next(&f.bytes, &g)) == STROBE_PROTO_FIELD) {
            if (g.number == 11 && g.wire == STROBE_WIRE_VARINT)
                s->default_track = g.value;
            else if (g.number == 31 && g.wire == STROBE_WIRE_VARINT && s->extra_count < STROBE_EXTRA_COUNTERS_MAX)
                s->extra[s->extra_count++] = g.value;
        }
        if (step == STROBE_PROTO_BAD)
            return strobe_import_bad_field(m, &f.bytes, "event defaults");
    }
    return step == STROBE_PROTO_BAD ? strobe_import_bad_field(m, &d, "packet defaults") : STROBE_OK;
}

/* ---- events */

/* Appends numbers of a repeated field, packed or not. */
static void add_numbers(const struct strobe_proto_field *f, uint64_t *list, uint32_t *count)
{
    if (f->wire == STROBE_WIRE_VARINT && *count < STROBE_EXTRA_COUNTERS_MAX)
        list[(*count)++] = f->value;
    if (f->wire != STROBE_WIRE_BYTES)
        return;
    uint64_t v;
    for (const uint8_t *p = f->bytes.at;
         *count < STROBE_EXTRA_COUNTERS_MAX && (p = strobe_varint_get(p, f->bytes.end, &v));)
        list[(*count)++] = v;
}

static enum strobe_status read_event(struct strobe_import *m, struct strobe_proto data, struct event *e)
{
    struct strobe_proto_field f;
    enum strobe_proto_step step;
    *e = (struct event){.name = none};
    while ((step = strobe_proto_next(&data, &f)) == STROBE_PROTO_FIELD) {
        uint64_t numbers[STROBE_EXTRA_COUNTERS_MAX];
        uint32_t n = 0;
        switch (f.number) {
        case 3:
            add_numbers(&f, numbers, &n);
            if (n && !e->category_iid)
                e->category_iid = numbers[0];
            break;
        case 9: e->type = (unsigned)f.value; break;
        case 10: e->name_iid = f.value; break;
        case 11: e->track = f.value; break;
        case 12: add_numbers(&f, e->values, &e->value_count); break;
        case 22: e->category = f.bytes; break;
        case 23: e->name = f.bytes; break;
        case 30:
            e->counter = (int64_t)f.value;
            e->has_counter = 1;
            break;
        case 31: add_numbers(&f, e->extra, &e->extra_count); break;
        case 44:
            memcpy(&e->real_counter, &f.value, sizeof e->real_counter);
            e->has_real_counter = 1;
            break;
        default: break;
        }
    }
    return step == STROBE_PROTO_BAD ? strobe_import_bad_field(m, &data, "a track event") : STROBE_OK;
}

static void emit_counter(struct strobe_import *m, const struct strobe_track *t, struct strobe_import_event e,
                         double value)
{
    e.name = t->name;
    e.unit = t->unit;
    e.value = value;
    if (m->visitor->counter)
        m->visitor->counter(m->ctx, &e);
}

/* Handles the counter values of an event. The thread's CPU time is stored in the event; other counters are emitted
 * separately. */
static void take_extra_values(struct strobe_import *m, const struct strobe_sequence *s, const struct event *e,
                              struct strobe_import_event *out)
{
    const uint64_t *uuids = e->extra_count ? e->extra : s->extra;
    uint32_t count = e->extra_count ? e->extra_count : s->extra_count;
    for (uint32_t i = 0; i < e->value_count && i < count; i++) {
        struct strobe_track *t = strobe_import_track(m, uuids[i], 0);
        if (!t || t->kind != STROBE_TRACK_COUNTER)
            continue;
        t->total = t->incremental ? t->total + e->values[i] : e->values[i];
        if (t->thread_time) {
            out->has_cpu = 1;
            out->cpu_ns = t->total * t->multiplier;
        } else {
            emit_counter(m, t, *out, (double)(int64_t)t->total * (double)t->multiplier);
        }
    }
}

static void emit_counter_event(struct strobe_import *m, const struct event *e, struct strobe_track *t,
                               struct strobe_import_event *out)
{
    const struct strobe_track *parent = strobe_import_track(m, t->parent, 0);
    int of_process = is_process(parent);
    if (!parent || (parent->kind != STROBE_TRACK_THREAD && !of_process) || (!e->has_counter && !e->has_real_counter)) {
        m->stats->unknown_tracks++;
        return;
    }
    out->thread = of_process ? STROBE_IMPORT_NO_THREAD : parent->thread;
    double value = e->real_counter;
    if (e->has_counter) {
        t->total = t->incremental ? t->total + (uint64_t)e->counter : (uint64_t)e->counter;
        value = (double)(int64_t)t->total * (double)t->multiplier;
    }
    emit_counter(m, t, *out, value);
}

static enum strobe_status emit_notes(struct strobe_import *m, const struct strobe_sequence *s, struct strobe_proto data,
                                     const struct strobe_import_event *e)
{
    struct strobe_proto_field f, g;
    enum strobe_proto_step step;
    while ((step = strobe_proto_next(&data, &f)) == STROBE_PROTO_FIELD) {
        if (f.number != 4 || f.wire != STROBE_WIRE_BYTES)
            continue;
        uint64_t iid = 0, value = 0;
        struct strobe_proto name = none;
        int has_value = 0;
        while ((step = strobe_proto_next(&f.bytes, &g)) == STROBE_PROTO_FIELD) {
            if (g.number == 1)
                iid = g.value;
            else if (g.number == 10)
                name = g.bytes;
            else if (g.wire == STROBE_WIRE_VARINT &&
                     (g.number == 2 || g.number == 3 || g.number == 4 || g.number == 7)) {
                value = g.value;
                has_value = 1;
            }
        }
        if (step == STROBE_PROTO_BAD)
            return strobe_import_bad_field(m, &f.bytes, "an annotation");
        if (has_value)
            m->visitor->note(m->ctx, e, strobe_import_name(m, s, STROBE_INTERNED_NOTES, iid, name), value);
    }
    return STROBE_OK;
}

static enum strobe_status emit_event(struct strobe_import *m, struct strobe_sequence *s, struct strobe_proto data,
                                     uint64_t time_ns)
{
    static const struct event empty;
    struct event e = empty;
    enum strobe_status status = read_event(m, data, &e);
    if (status != STROBE_OK)
        return status;
    m->stats->events++;
    struct strobe_track *t = strobe_import_track(m, e.track ? e.track : s->default_track, 0);
    struct strobe_import_event out = {.time_ns = time_ns, .unit = "", .name = "", .category = "", .track = ""};
    if (t && t->kind == STROBE_TRACK_COUNTER) {
        emit_counter_event(m, &e, t, &out);
        return STROBE_OK;
    }
    int of_process = (is_process(t) && e.type == 3) || (t && t->kind == STROBE_TRACK_OF_PROCESS);
    if (!of_process && (!t || t->kind != STROBE_TRACK_THREAD)) {
        m->stats->unknown_tracks++;
        return STROBE_OK;
    }
    out.thread = of_process ? STROBE_IMPORT_NO_THREAD : t->thread;
    out.track = t->kind == STROBE_TRACK_OF_PROCESS ? t->name : "";
    out.name = strobe_import_name(m, s, STROBE_INTERNED_NAMES, e.name_iid, e.name);
    out.category = strobe_import_name(m, s, STROBE_INTERNED_CATEGORIES, e.category_iid, e.category);
    take_extra_values(m, s, &e, &out);
    void (*emit)(void *, const struct strobe_import_event *) = e.type == 1   ? m->visitor->slice_begin
                                                               : e.type == 2 ? m->visitor->slice_end
                                                               : e.type == 3 ? m->visitor->instant
                                                                             : NULL;
    if (emit)
        emit(m->ctx, &out);
    return m->visitor->note ? emit_notes(m, s, data, &out) : STROBE_OK;
}

static enum strobe_status emit_callstack_sample(struct strobe_import *m, struct strobe_proto sample, uint64_t time_ns)
{
    struct strobe_proto_field f;
    enum strobe_proto_step step;
    uint64_t pid = 0, tid = 0;
    while ((step = strobe_proto_next(&sample, &f)) == STROBE_PROTO_FIELD)
        *(f.number == 2 ? &pid : f.number == 3 ? &tid : &f.value) = f.value;
    if (step == STROBE_PROTO_BAD)
        return strobe_import_bad_field(m, &sample, "a sample");
    m->stats->samples++;
    if (m->visitor->sample)
        m->visitor->sample(m->ctx, (uint32_t)pid, (uint32_t)tid, time_ns);
    return STROBE_OK;
}

/* ---- packets */

static enum strobe_status read_packet(struct strobe_import *m, struct strobe_proto data, struct packet *p)
{
    struct strobe_proto_field f;
    enum strobe_proto_step step;
    *p = (struct packet){.timestamp = 0};
    while ((step = strobe_proto_next(&data, &f)) == STROBE_PROTO_FIELD) {
        switch (f.number) {
        case 6: p->clocks = f.bytes; break;
        case 8:
            p->timestamp = f.value;
            p->has_timestamp = 1;
            break;
        case 10: p->sequence = (uint32_t)f.value; break;
        case 11: p->event = f.bytes; break;
        case 12: p->interned = f.bytes; break;
        case 13: p->flags = (uint32_t)f.value; break;
        case 50: p->deflated = f.bytes; break;
        case 58: p->clock = (uint32_t)f.value; break;
        case 59: p->defaults = f.bytes; break;
        case 60: p->track = f.bytes; break;
        case 66: p->perf_sample = f.bytes; break;
        default: break;
        }
    }
    return step == STROBE_PROTO_BAD ? strobe_import_bad_field(m, &data, "a packet") : STROBE_OK;
}

static enum strobe_status read_deflated(struct strobe_import *m, struct strobe_proto deflated);

static enum strobe_status take_packet(struct strobe_import *m, struct strobe_proto data)
{
    struct packet p;
    enum strobe_status status = read_packet(m, data, &p);
    if (status != STROBE_OK)
        return status;
    if (p.deflated.at)
        return read_deflated(m, p.deflated);
    struct strobe_sequence *s = strobe_import_sequence(m, p.sequence);
    if (!s)
        return strobe_import_no_memory(m);
    if (p.flags & 1) {
        s->stated = 1;
        s->epoch++;
        s->extra_count = s->default_clock = 0;
        s->default_track = 0;
    }
    if (p.flags & 2 && !s->stated) {
        m->stats->unstated++;
        return STROBE_OK;
    }
    uint64_t time_ns = 0;
    if (p.clocks.at)
        status = strobe_import_clocks(m, s, p.clocks);
    if (status == STROBE_OK && p.defaults.at)
        status = read_defaults(m, s, p.defaults);
    if (status == STROBE_OK && p.interned.at)
        status = strobe_import_interned(m, s, p.interned);
    if (status == STROBE_OK && p.track.at)
        status = read_track(m, p.track);
    if (status == STROBE_OK && (p.event.at || p.perf_sample.at))
        status = strobe_import_time(m, s, p.clock, p.timestamp, data.at, &time_ns);
    if (status == STROBE_OK && p.event.at)
        status = emit_event(m, s, p.event, time_ns);
    if (status == STROBE_OK && p.perf_sample.at)
        status = emit_callstack_sample(m, p.perf_sample, time_ns);
    return status;
}

static enum strobe_status read_packets(struct strobe_import *m, struct strobe_proto trace)
{
    while (trace.at < trace.end) {
        struct strobe_proto_field f;
        const uint8_t *start = trace.at;
        uint64_t bytes;
        if (*start != 0x0a)
            return strobe_import_fail(m, STROBE_BAD_INPUT, start, "expected a packet (0x0a), found 0x%02x", *start);
        if (strobe_proto_next(&trace, &f) != STROBE_PROTO_FIELD) {
            const uint8_t *p = strobe_varint_get(start + 1, trace.end, &bytes);
            if (!p)
                return strobe_import_fail(m, STROBE_TRUNCATED, start, "expected a packet's length");
            return strobe_import_fail(m, STROBE_TRUNCATED, start,
                                      "expected a packet of %" PRIu64 " bytes, but %zu are left", bytes,
                                      (size_t)(trace.end - p));
        }
        enum strobe_status status = take_packet(m, f.bytes);
        if (status != STROBE_OK)
            return status;
        m->stats->packets++;
    }
    return STROBE_OK;
}

/* Inflates into a buffer that grows as needed; the packet's stated size is not used. NULL: *status has the reason. */
static uint8_t *inflate_all(struct strobe_import *m, struct strobe_proto in, size_t *bytes, enum strobe_status *status)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in.at, .avail_in = (uInt)(in.end - in.at)};
    uint8_t *out = NULL;
    size_t room = 0;
    int r = inflateInit(&z);
    *bytes = 0;
    *status = STROBE_OK;
    while (r == Z_OK) {
        if (*bytes == room) {
            room = room ? 2 * room : 1 << 16;
            uint8_t *grown = room > INFLATED_BYTES_MAX ? NULL : realloc(out, room);
            if (!grown)
                break;
            out = grown;
        }
        z.next_out = out + *bytes;
        z.avail_out = (uInt)(room - *bytes);
        r = inflate(&z, Z_NO_FLUSH);
        *bytes = room - z.avail_out;
    }
    inflateEnd(&z);
    if (r == Z_STREAM_END)
        return out;
    free(out);
    if (r == Z_OK && room <= INFLATED_BYTES_MAX)
        *status = strobe_import_no_memory(m);
    else
        *status = strobe_import_fail(m, STROBE_BAD_INPUT, in.at, "expected deflated packets, at most %d MB of them",
                                     INFLATED_BYTES_MAX >> 20);
    return NULL;
}

static enum strobe_status read_deflated(struct strobe_import *m, struct strobe_proto deflated)
{
    size_t bytes;
    enum strobe_status status;
    if (m->outer)
        return strobe_import_fail(m, STROBE_BAD_INPUT, deflated.at, "expected no deflated packet within another");
    if (deflated.end - deflated.at > INT32_MAX)
        return strobe_import_fail(m, STROBE_BAD_INPUT, deflated.at, "expected a deflated packet of less than 2 GB");
    uint8_t *whole = inflate_all(m, deflated, &bytes, &status);
    if (!whole)
        return status;
    m->outer = deflated.at;
    m->inner = whole;
    status = read_packets(m, (struct strobe_proto){whole, whole + bytes});
    m->outer = NULL;
    free(whole);
    return status;
}

enum strobe_status strobe_import_perfetto_bytes(const void *bytes, size_t count,
                                                const struct strobe_import_visitor *visitor, void *ctx,
                                                struct strobe_import_stats *stats, struct strobe_error *error)
{
    struct strobe_import_stats own;
    struct strobe_import m = {.visitor = visitor, .ctx = ctx, .stats = stats ? stats : &own, .error = error};
    *m.stats = (struct strobe_import_stats){0};
    m.file = bytes;
    enum strobe_status status = read_packets(&m, (struct strobe_proto){m.file, m.file + count});
    if (status == STROBE_OK && m.texts.failed)
        status = strobe_import_no_memory(&m);
    strobe_import_state_free(&m);
    return status;
}

enum strobe_status strobe_import_perfetto(const char *path, const struct strobe_import_visitor *visitor, void *ctx,
                                          struct strobe_import_stats *stats, struct strobe_error *error)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum strobe_status status = STROBE_IO;
    if (fd < 0 || fstat(fd, &st)) {
        strobe_error_set(error, "%s", strerror(errno));
    } else if (!S_ISREG(st.st_mode) || st.st_size == 0) {
        strobe_error_set(error, "byte 0: expected a Perfetto trace, found %s",
                         S_ISREG(st.st_mode) ? "an empty file" : "no regular file");
        status = STROBE_BAD_INPUT;
    } else {
        size_t bytes = (size_t)st.st_size;
        void *map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED) {
            strobe_error_set(error, "%s", strerror(errno));
        } else {
            status = strobe_import_perfetto_bytes(map, bytes, visitor, ctx, stats, error);
            munmap(map, bytes);
        }
    }
    if (fd >= 0)
        close(fd);
    return status;
}

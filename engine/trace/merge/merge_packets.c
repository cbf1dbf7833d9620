#include "engine/trace/merge/merge_packets.h"

#include "engine/base/error_format.h"
#include "engine/trace/export/packets.h"
#include "engine/trace/import/perfetto/proto_read.h"
#include "engine/util/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MERGE_FTRACE = 1, MERGE_SYSTEM_INFO = 45 };
enum { CHUNK_BYTES = 1 << 22, INFLATED_MOST = 1 << 28 };

int strobe_merge_is_packets(const char *at, size_t bytes)
{
    struct strobe_proto trace = {(const uint8_t *)at, (const uint8_t *)at + bytes};
    struct strobe_proto_field f, inner;
    if (strobe_proto_next(&trace, &f) != STROBE_PROTO_FIELD || f.number != TRACE_PACKET || f.wire != STROBE_WIRE_BYTES)
        return 0;
    enum strobe_proto_step step;
    while ((step = strobe_proto_next(&f.bytes, &inner)) == STROBE_PROTO_FIELD)
        ;
    return step == STROBE_PROTO_END;
}

/* ---- scheduling */

struct scan {
    struct strobe_merge_packets *p;
    struct strobe_sched_states *states;
    uint64_t offset;                /* of the packet in the file */
    struct strobe_merge_clocks *at; /* clocks of the packet's snapshot */
    int64_t ftrace_to_boot;
    int ftrace_known; /* the bundle's clock can be converted */
};

static int next_number(struct strobe_proto *m, struct strobe_proto_field *f)
{
    return strobe_proto_next(m, f) == STROBE_PROTO_FIELD;
}

/* Notes which thread runs on the processor now. Returns 0 when the thread before is not reference. */
static int change_running(struct scan *s, uint32_t cpu, uint32_t next, uint32_t *prev)
{
    int fresh;
    uint32_t *running = strobe_idmap_put(&s->p->running, cpu, 0, &fresh);
    if (!running) {
        s->p->failed = 1;
        return 0;
    }
    *prev = *running;
    *running = next;
    return !fresh;
}

static void scan_switch(struct scan *s, uint32_t cpu, uint64_t time_ns, struct strobe_proto message)
{
    struct strobe_proto_field f;
    uint64_t prev = 0, next = 0, state = 0;
    uint32_t before;
    while (next_number(&message, &f)) {
        prev = f.number == 2 ? f.value : prev;
        state = f.number == 4 ? f.value : state;
        next = f.number == 6 ? f.value : next;
    }
    change_running(s, cpu, (uint32_t)next, &before);
    strobe_sched_states_switch(s->states, time_ns, (uint32_t)prev, strobe_sched_state_of_number(state), (uint32_t)next);
}

static void scan_wake(struct scan *s, uint64_t time_ns, struct strobe_proto message)
{
    struct strobe_proto_field f;
    while (next_number(&message, &f))
        if (f.number == 2)
            strobe_sched_states_wake(s->states, time_ns, (uint32_t)f.value);
}

static void scan_event(struct scan *s, uint32_t cpu, struct strobe_proto event)
{
    struct strobe_proto_field f;
    uint64_t time_ns = 0;
    while (next_number(&event, &f)) {
        if (f.number == 1)
            time_ns = f.value + (uint64_t)s->ftrace_to_boot;
        else if (f.number == 4)
            scan_switch(s, cpu, time_ns, f.bytes);
        else if (f.number == 17 || f.number == 20 || f.number == 114)
            scan_wake(s, time_ns, f.bytes);
    }
}

/* Takes the next packed number. Numbers that are missing count as 0. */
static uint64_t take_packed(struct strobe_proto *m)
{
    uint64_t n = 0;
    const uint8_t *p = m->at < m->end ? strobe_varint_get(m->at, m->end, &n) : NULL;
    m->at = p ? p : m->end;
    return p ? n : 0;
}

/* The compact form of scheduling: arrays of times, each relative to the one before, and of the events' other values. */
static void scan_compact(struct scan *s, uint32_t cpu, struct strobe_proto message)
{
    struct strobe_proto array[16] = {{0}};
    struct strobe_proto_field f;
    while (next_number(&message, &f))
        if (f.number < 16 && f.wire == STROBE_WIRE_BYTES)
            array[f.number] = f.bytes;
    for (uint64_t time_ns = (uint64_t)s->ftrace_to_boot; array[1].at < array[1].end;) {
        uint32_t prev;
        time_ns += take_packed(&array[1]);
        uint64_t state = take_packed(&array[2]);
        uint32_t next = (uint32_t)take_packed(&array[3]);
        if (change_running(s, cpu, next, &prev))
            strobe_sched_states_switch(s->states, time_ns, prev, strobe_sched_state_of_number(state), next);
        else
            strobe_sched_states_switch(s->states, time_ns, UINT32_MAX, STROBE_SCHED_UNKNOWN, next);
    }
    for (uint64_t time_ns = (uint64_t)s->ftrace_to_boot; array[7].at < array[7].end;) {
        time_ns += take_packed(&array[7]);
        strobe_sched_states_wake(s->states, time_ns, (uint32_t)take_packed(&array[8]));
    }
}

static void scan_bundle(struct scan *s, struct strobe_proto bundle)
{
    struct strobe_proto_field f;
    struct strobe_proto again = bundle;
    uint64_t cpu = 0, clock = 0, ftrace_ns = 0, boot_ns = 0;
    while (next_number(&bundle, &f)) {
        cpu = f.number == 1 ? f.value : cpu;
        clock = f.number == 5 ? f.value : clock;
        ftrace_ns = f.number == 6 ? f.value : ftrace_ns;
        boot_ns = f.number == 7 ? f.value : boot_ns;
    }
    if (clock && !boot_ns)
        return; /* a clock that is not related to boottime here */
    s->ftrace_to_boot = clock ? (int64_t)(boot_ns - ftrace_ns) : 0;
    while (next_number(&again, &f)) {
        if (f.number == 2)
            scan_event(s, (uint32_t)cpu, f.bytes);
        else if (f.number == 4)
            scan_compact(s, (uint32_t)cpu, f.bytes);
    }
}

/* ---- packets */

static void scan_snapshot(struct scan *s, struct strobe_proto snapshot)
{
    struct strobe_proto_field f, g;
    while (next_number(&snapshot, &f)) {
        uint64_t id = 0, time_ns = 0;
        if (f.number != 1)
            continue;
        while (next_number(&f.bytes, &g)) {
            id = g.number == 1 ? g.value : id;
            time_ns = g.number == 2 ? g.value : time_ns;
        }
        if (id == CLOCK_BOOT)
            s->at->boot_ns = time_ns;
        else if (id == CLOCK_MONO)
            s->at->mono_ns = time_ns;
        else if (id == CLOCK_REAL)
            s->at->real_ns = time_ns;
    }
}

/* Reads the kernel's version of `utsname.release`, such as 5.10.66. */
static void scan_version(struct strobe_merge_packets *p, struct strobe_proto info)
{
    struct strobe_proto_field f, g;
    while (next_number(&info, &f)) {
        while (f.number == 1 && next_number(&f.bytes, &g)) {
            char release[16] = "";
            unsigned major, minor;
            size_t bytes = (size_t)(g.bytes.end - g.bytes.at);
            if (g.number != 3 || g.wire != STROBE_WIRE_BYTES)
                continue;
            memcpy(release, g.bytes.at, bytes < sizeof release ? bytes : sizeof release - 1);
            if (sscanf(release, "%4u.%4u", &major, &minor) == 2) {
                p->has_version = 1;
                p->states_of_4_14 = major > 4 || (major == 4 && minor >= 14);
            }
        }
    }
}

static void note_id(struct strobe_merge_packets *p, struct strobe_idmap *ids, uint64_t id)
{
    int fresh;
    p->failed |= !strobe_idmap_put(ids, id, 0, &fresh);
}

static void scan_packet(struct scan *s, struct strobe_proto packet);

/* Inflates a packet of packets. Returns its bytes, which the caller frees; NULL when damaged or out of memory. */
static uint8_t *inflate_packets(struct strobe_proto deflated, size_t *bytes)
{
    z_stream z = {0};
    uint8_t *out = NULL;
    size_t room = 0;
    int result = Z_OK;
    if (inflateInit(&z) != Z_OK)
        return NULL;
    z.next_in = (unsigned char *)(uintptr_t)deflated.at;
    z.avail_in = (uInt)(deflated.end - deflated.at);
    while (result == Z_OK && z.total_out < INFLATED_MOST &&
           strobe_array_reserve(&out, &room, (size_t)z.total_out + (1 << 16))) {
        z.next_out = out + z.total_out;
        z.avail_out = (uInt)(room - z.total_out);
        result = inflate(&z, Z_NO_FLUSH);
    }
    *bytes = z.total_out;
    inflateEnd(&z);
    if (result == Z_STREAM_END)
        return out;
    free(out);
    return NULL;
}

static void scan_compressed(struct scan *s, struct strobe_proto deflated)
{
    size_t bytes;
    struct strobe_proto_field f;
    uint8_t *whole = inflate_packets(deflated, &bytes);
    struct strobe_proto inner = {whole, whole ? whole + bytes : whole};
    while (whole && next_number(&inner, &f))
        if (f.number == TRACE_PACKET && f.wire == STROBE_WIRE_BYTES)
            scan_packet(s, f.bytes);
    free(whole);
}

/* Skips fields that the scan does not use, and whose key and length have one byte: most fields of most packets. Leaves
 * anything else, also what is damaged, to the reader of fields. */
static inline void skip_unused(struct strobe_proto *m)
{
    enum { NUMBERS_WIRE = 0, BYTES_WIRE = 2, MOST = 1 + STROBE_VARINT_BYTES_MAX };
    const uint8_t *p = m->at;
    while (m->end - p > MOST && *p < 0x80) {
        unsigned number = *p >> 3, wire = *p & 7;
        if (wire == NUMBERS_WIRE && number && number != PACKET_SEQUENCE) {
            const uint8_t *last = p + 1;
            while (*last >= 0x80 && last - p < STROBE_VARINT_BYTES_MAX)
                last++;
            if (*last >= 0x80)
                break;
            p = last + 1;
        } else if (wire == BYTES_WIRE && number && number != MERGE_FTRACE && number != PACKET_CLOCK_SNAPSHOT &&
                   p[1] < 0x80 && p[1] + 2 <= m->end - p) {
            p += p[1] + 2;
        } else {
            break;
        }
    }
    m->at = p;
}

static void scan_packet(struct scan *s, struct strobe_proto packet)
{
    struct strobe_proto_field f, g;
    while (skip_unused(&packet), next_number(&packet, &f)) {
        switch (f.number) {
        case MERGE_FTRACE:
            if (s->states && s->states->thread_count)
                scan_bundle(s, f.bytes);
            break;
        case PACKET_CLOCK_SNAPSHOT: scan_snapshot(s, f.bytes); break;
        case PACKET_SEQUENCE:
            if (f.value != s->p->last_sequence)
                note_id(s->p, &s->p->sequences, (uint32_t)f.value);
            s->p->last_sequence = f.value;
            break;
        case PACKET_TRACK_DESCRIPTOR:
            while (next_number(&f.bytes, &g))
                if (g.number == 1)
                    note_id(s->p, &s->p->tracks, g.value);
            break;
        case MERGE_SYSTEM_INFO: scan_version(s->p, f.bytes); break;
        case PACKET_COMPRESSED:
            if (f.wire == STROBE_WIRE_BYTES)
                scan_compressed(s, f.bytes);
            break;
        default: break;
        }
    }
}

/* Begins a part at a packet with a snapshot of boottime. The first part begins with the file. */
static void add_part(struct strobe_merge_packets *p, uint64_t offset, uint64_t boot_ns)
{
    if (p->part_count && p->parts[p->part_count - 1].boot_ns >= boot_ns)
        return;
    if ((p->failed |= !strobe_array_reserve(&p->parts, &p->part_room, p->part_count + 1)))
        return;
    p->parts[p->part_count] = (struct strobe_merge_part){p->part_count ? offset : 0, boot_ns};
    p->part_count++;
}

enum strobe_status strobe_merge_packets_scan(struct strobe_merge_packets *p, struct strobe_sched_states *states,
                                             struct strobe_error *error)
{
    const uint8_t *begin = (const uint8_t *)p->file.at;
    struct strobe_proto trace = {begin, begin + p->file.bytes};
    const uint8_t *passed = begin;
    struct strobe_proto_field f;
    while (!p->failed && next_number(&trace, &f)) {
        struct strobe_merge_clocks clocks = {0};
        struct scan s = {.p = p, .states = states, .at = &clocks};
        if (f.number == TRACE_PACKET && f.wire == STROBE_WIRE_BYTES)
            scan_packet(&s, f.bytes);
        if (clocks.boot_ns) {
            add_part(p, p->whole_bytes, clocks.boot_ns);
            p->clocks = p->clocks.boot_ns ? p->clocks : clocks;
        }
        p->packets++;
        p->whole_bytes = (uint64_t)(trace.at - begin);
        if (trace.at - passed > CHUNK_BYTES) {
            strobe_whole_file_pass(&p->file, (const char *)trace.at);
            passed = trace.at;
        }
    }
    if (!p->part_count)
        add_part(p, 0, 1); /* without a snapshot */
    strobe_idmap_free(&p->running);
    if (p->failed)
        return STROBE_IO;
    if (p->packets)
        return STROBE_OK;
    strobe_error_set(error, "byte 0: expected a packet of a Perfetto trace");
    return STROBE_BAD_INPUT;
}

/* ---- copying */

static void write_rewritten(struct strobe_merge_packets *p, struct strobe_outfile *out, struct strobe_proto packet);

static void rewrite_packets(struct strobe_merge_packets *p, struct strobe_outfile *out, struct strobe_proto trace)
{
    struct strobe_proto_field f;
    const uint8_t *at = trace.at;
    for (; next_number(&trace, &f); at = trace.at) {
        if (f.number == TRACE_PACKET && f.wire == STROBE_WIRE_BYTES)
            write_rewritten(p, out, f.bytes);
        else
            strobe_outfile_write(out, at, (size_t)(trace.at - at));
    }
}

/* Writes the packet with the new id of its sequence. A compressed packet is written uncompressed. */
static void write_rewritten(struct strobe_merge_packets *p, struct strobe_outfile *out, struct strobe_proto packet)
{
    struct strobe_proto rest = packet;
    struct strobe_proto_field f;
    const uint8_t *at = packet.at, *id_at = NULL, *id_end = NULL;
    uint8_t head[PB_FIELD_BYTES_MAX], id[PB_FIELD_BYTES_MAX];
    size_t id_bytes = 0, bytes;
    for (; next_number(&rest, &f); at = rest.at) {
        uint8_t *whole = f.number == PACKET_COMPRESSED ? inflate_packets(f.bytes, &bytes) : NULL;
        if (whole) {
            rewrite_packets(p, out, (struct strobe_proto){whole, whole + bytes});
            free(whole);
            return;
        }
        const uint32_t *other =
            f.number == PACKET_SEQUENCE ? strobe_idmap_get(&p->new_sequences, (uint32_t)f.value, 0) : NULL;
        if (other) {
            id_at = at;
            id_end = rest.at;
            id_bytes = (size_t)(pb_uint(id, PACKET_SEQUENCE, *other) - id);
        }
    }
    id_at = id_at ? id_at : packet.end;
    id_end = id_end ? id_end : packet.end;
    bytes = (size_t)(packet.end - packet.at) - (size_t)(id_end - id_at) + id_bytes;
    uint8_t *h = strobe_varint_put(strobe_varint_put(head, TRACE_PACKET << 3 | 2), bytes);
    strobe_outfile_write(out, head, (size_t)(h - head));
    strobe_outfile_write(out, packet.at, (size_t)(id_at - packet.at));
    strobe_outfile_write(out, id, id_bytes);
    strobe_outfile_write(out, id_end, (size_t)(packet.end - id_end));
}

int strobe_merge_packets_copy(struct strobe_merge_packets *p, struct strobe_outfile *out)
{
    if (p->next_part == p->part_count)
        return 0;
    uint64_t begin = p->parts[p->next_part++].offset;
    uint64_t end = p->next_part < p->part_count ? p->parts[p->next_part].offset : p->whole_bytes;
    const char *at = p->file.at + begin;
    if (p->new_sequences.count) {
        rewrite_packets(p, out, (struct strobe_proto){(const uint8_t *)at, (const uint8_t *)p->file.at + end});
        strobe_whole_file_pass(&p->file, p->file.at + end);
        return 1;
    }
    for (size_t n; begin < end; begin += n, at += n) {
        n = end - begin < CHUNK_BYTES ? (size_t)(end - begin) : CHUNK_BYTES;
        strobe_outfile_write(out, at, n);
        strobe_whole_file_pass(&p->file, at + n);
    }
    return 1;
}

void strobe_merge_packets_close(struct strobe_merge_packets *p)
{
    free(p->parts);
    strobe_idmap_free(&p->sequences);
    strobe_idmap_free(&p->tracks);
    strobe_idmap_free(&p->new_sequences);
    strobe_idmap_free(&p->running);
    strobe_whole_file_close(&p->file);
    *p = (struct strobe_merge_packets){.file = {.at = ""}};
}

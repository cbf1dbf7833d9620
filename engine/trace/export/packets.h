/* Writes packets of a Perfetto trace to a file, with the messages that all writers of such traces need. Packets are
 * built in a buffer of fixed size and written in large runs. With deflate, each run becomes one compressed packet. pb.h
 * writes the fields; field numbers are those of protos/perfetto/trace.
 *
 *   uint8_t *p = strobe_packets_room(w, most), *packet = p = pb_open(p, TRACE_PACKET);
 *   ... fields at p ...
 *   strobe_packets_end(w, packet, p);
 *
 * Not thread-safe; allocates at open. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_PACKETS_H
#define STROBE_TRACE_EXPORT_PACKETS_H

#include "engine/trace/export/pb.h"
#include "engine/util/outfile.h"

enum { TRACE_PACKET = 1 };
enum {
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_COMPRESSED = 50,
    PACKET_CLOCK_ID = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK_DESCRIPTOR = 60,
    PACKET_PERF_SAMPLE = 66,
    PACKET_FIRST_ON_SEQUENCE = 87,
};
enum { FLAG_STATE_CLEARED = 1, FLAG_STATE_NEEDED = 2 };
enum { CLOCK_REAL = 1, CLOCK_MONO = 3, CLOCK_BOOT = 6, CLOCK_DELTA = 64 };
enum {
    EVENT_CATEGORY = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_COUNTER = 12,
    EVENT_CATEGORY_TEXT = 22,
    EVENT_NAME_TEXT = 23,
    EVENT_VALUE = 30,
    EVENT_COUNTER_TRACK = 31,
    EVENT_SOURCE = 34,
    EVENT_FLOW = 47,
    EVENT_FLOW_END = 48,
    EVENT_CORRELATION_TEXT = 53 /* viewers give one color to slices with one text */
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum {
    INTERNED_CATEGORY = 1,
    INTERNED_NAME = 2,
    INTERNED_ANNOTATION = 3,
    INTERNED_SOURCE = 4,
    INTERNED_FUNCTION = 5,
    INTERNED_FRAME = 6,
    INTERNED_STACK = 7,
    INTERNED_BUILD_ID = 16,
    INTERNED_PATH = 17,
    INTERNED_MAPPING = 19
};

/* The size of the buffer, and space enough for one event. */
enum { STROBE_PACKETS_BYTES = 1 << 18, STROBE_PACKETS_EVENT_BYTES = 768 };

struct strobe_packets {
    struct strobe_outfile *out;
    uint8_t *buffer, *p; /* complete packets in [buffer, p) */
    struct strobe_packets_deflate *deflate;
    uint64_t count, raw_bytes; /* packets written so far; their bytes before compression */
    int failed;                /* memory ran out, or deflating failed */
};

/* Opens a writer to `out`. Returns 0 when out of memory. Close it in any case. */
int strobe_packets_open(struct strobe_packets *w, struct strobe_outfile *out, int deflate);

/* Writes the remaining packets and frees the buffers. The file stays open. */
void strobe_packets_close(struct strobe_packets *w);

void strobe_packets_flush(struct strobe_packets *w);

/* Returns space for one more packet of at most `bytes` bytes. */
static inline uint8_t *strobe_packets_room(struct strobe_packets *w, size_t bytes)
{
    if (bytes > (size_t)(w->buffer + STROBE_PACKETS_BYTES - w->p))
        strobe_packets_flush(w);
    return w->p;
}

static inline uint8_t *strobe_packets_end(struct strobe_packets *w, uint8_t *packet, uint8_t *p)
{
    w->count++;
    return w->p = pb_close(packet, p);
}

/* Returns the length of a text in a packet. Longer texts are cut, so that a packet fits the buffer. */
static inline size_t strobe_packets_text_bytes(const char *text)
{
    return strnlen(text, STROBE_PACKETS_BYTES / 4);
}

static inline uint8_t *strobe_packets_clock(uint8_t *p, unsigned clock, uint64_t time, int incremental)
{
    uint8_t *c = p = pb_open(p, 1);
    p = pb_uint(p, 1, clock);
    p = pb_uint(p, 2, time);
    if (incremental)
        p = pb_uint(p, 3, 1);
    return pb_close(c, p);
}

/* Sets the sequence's delta clock to `begin_ns`. Timestamps on that clock are relative to the previous packet. */
static inline uint8_t *strobe_packets_delta_clock(uint8_t *p, uint64_t begin_ns)
{
    p = pb_uint(p, PACKET_TIMESTAMP, begin_ns);
    p = pb_uint(p, PACKET_CLOCK_ID, CLOCK_BOOT);
    uint8_t *s = p = pb_open(p, PACKET_CLOCK_SNAPSHOT);
    p = strobe_packets_clock(p, CLOCK_BOOT, begin_ns, 0);
    p = strobe_packets_clock(p, CLOCK_DELTA, 0, 1);
    return pb_close(s, p);
}

/* Begins a sequence whose delta clock starts at `begin_ns`, in its first packet. Opens the defaults of the packets that
 * follow, *defaults: the caller adds to them, and closes them. */
static inline uint8_t *strobe_packets_begin_sequence(uint8_t *p, uint32_t sequence, uint64_t begin_ns,
                                                     uint8_t **defaults)
{
    p = pb_uint(p, PACKET_SEQUENCE, sequence);
    p = pb_uint(p, PACKET_FLAGS, FLAG_STATE_CLEARED);
    p = pb_uint(p, PACKET_FIRST_ON_SEQUENCE, 1);
    p = strobe_packets_delta_clock(p, begin_ns);
    *defaults = p = pb_open(p, PACKET_DEFAULTS);
    return pb_uint(p, PACKET_CLOCK_ID, CLOCK_DELTA);
}

/* Writes an entry of a dictionary. */
static inline uint8_t *strobe_packets_interned(uint8_t *p, unsigned field, uint64_t iid, const char *text)
{
    uint8_t *e = p = pb_open(p, field);
    p = pb_uint(p, 1, iid);
    p = pb_bytes(p, 2, text, strobe_packets_text_bytes(text));
    return pb_close(e, p);
}

/* Writes a number that belongs to an event, with its key. */
static inline uint8_t *strobe_packets_note(uint8_t *p, const char *key, uint64_t value)
{
    uint8_t *note = p = pb_open(p, EVENT_ANNOTATION);
    p = pb_text(p, 10, key);
    p = pb_uint(p, 3, value);
    return pb_close(note, p);
}

/* Writes one end of a flow between two slices. Both ends have the same id. `field` is EVENT_FLOW at the begin and
 * EVENT_FLOW_END at the end. */
static inline uint8_t *strobe_packets_flow(uint8_t *p, unsigned field, uint64_t id)
{
    p = strobe_varint_put(p, field << 3 | 1);
    for (unsigned i = 0; i < 8; i++)
        *p++ = (uint8_t)(id >> 8 * i);
    return p;
}

#endif

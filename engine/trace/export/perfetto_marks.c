#include "engine/trace/export/perfetto_marks.h"

#include "engine/trace/export/perfetto_ids.h"
#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

enum { NOTE_BYTES = 4000, NOTE_FRAME_BYTES = 32 };

static uint8_t *open_packet(struct strobe_packets *w, uint32_t sequence, size_t bytes, uint8_t **packet)
{
    uint8_t *p = strobe_packets_room(w, STROBE_PACKETS_EVENT_BYTES + bytes);
    *packet = p = pb_open(p, TRACE_PACKET);
    return pb_uint(p, PACKET_SEQUENCE, sequence);
}

static void describe_mark_track(const struct strobe_perfetto_marks *marks, struct strobe_packets *w, uint64_t track,
                                uint64_t parent, const struct strobe_mark *m)
{
    const char *name = m->lane ? m->lane : m->name;
    size_t bytes = strobe_packets_text_bytes(name);
    uint8_t *packet, *p = open_packet(w, marks->sequence, bytes, &packet);
    uint8_t *d = p = pb_open(p, PACKET_TRACK_DESCRIPTOR);
    p = pb_uint(p, 1, track);
    p = pb_uint(p, 5, parent);
    p = pb_bytes(p, 2, name, bytes);
    if (m->is_counter) {
        uint8_t *c = p = pb_open(p, 8);
        p = pb_close(c, p);
    }
    p = pb_close(d, p);
    strobe_packets_end(w, packet, p);
}

/* Returns the space that the mark's notes need. Their texts are cut to NOTE_BYTES. */
static size_t note_bytes(const struct strobe_mark *m)
{
    size_t bytes = 0;
    for (size_t i = 0; i < m->note_count; i++)
        bytes += strnlen(m->notes[i].text, NOTE_BYTES) + strlen(m->notes[i].key) + NOTE_FRAME_BYTES;
    return bytes;
}

static uint8_t *write_notes(uint8_t *p, const struct strobe_mark *m)
{
    for (size_t i = 0; i < m->note_count; i++) {
        uint8_t *note = p = pb_open(p, EVENT_ANNOTATION);
        p = pb_text(p, 10, m->notes[i].key);
        p = pb_bytes(p, 6, m->notes[i].text, strnlen(m->notes[i].text, NOTE_BYTES));
        p = pb_close(note, p);
    }
    return p;
}

/* Sections of one category have one color. One without a category has a color by its name, which is what viewers do. */
static uint8_t *write_category(uint8_t *p, const struct strobe_mark *m, size_t most)
{
    size_t bytes;
    const char *category = strobe_mark_category(m, &bytes);
    bytes = bytes < most ? bytes : most;
    if (!bytes)
        return pb_text(p, EVENT_CATEGORY_TEXT, "section");
    p = pb_bytes(p, EVENT_CATEGORY_TEXT, category, bytes);
    return pb_bytes(p, EVENT_CORRELATION_TEXT, category, bytes);
}

static void write_mark_event(const struct strobe_perfetto_marks *marks, struct strobe_packets *w, uint64_t track,
                             const struct strobe_mark *m, unsigned type)
{
    int begins = type == TYPE_BEGIN || type == TYPE_INSTANT;
    size_t bytes = begins ? strobe_packets_text_bytes(m->name) : 0;
    uint8_t *packet, *p = open_packet(w, marks->sequence, 3 * bytes + (begins ? note_bytes(m) : 0), &packet);
    p = pb_uint(p, PACKET_FLAGS, FLAG_STATE_NEEDED);
    p = pb_uint(p, PACKET_TIMESTAMP, type == TYPE_END ? m->end_ns : m->begin_ns);
    p = pb_uint(p, PACKET_CLOCK_ID, CLOCK_BOOT);
    uint8_t *event = p = pb_open(p, PACKET_TRACK_EVENT);
    p = pb_uint(p, EVENT_TYPE, type);
    p = pb_uint(p, EVENT_TRACK, track);
    if (type == TYPE_COUNTER)
        p = pb_uint(p, EVENT_VALUE, (uint64_t)m->value);
    if (begins && m->thread)
        p = write_category(p, m, bytes);
    if (bytes)
        p = pb_bytes(p, EVENT_NAME_TEXT, m->name, bytes);
    if (begins)
        p = write_notes(p, m);
    p = pb_close(event, p);
    strobe_packets_end(w, packet, p);
}

void strobe_perfetto_mark(struct strobe_perfetto_marks *marks, struct strobe_packets *packets, uint64_t *next_track,
                          uint64_t thread_track, const struct strobe_mark *m)
{
    if ((marks->failed |= !strobe_array_reserve_zeroed(&marks->tracks, &marks->room, (size_t)m->track + 1)))
        return;
    uint64_t *track = &marks->tracks[m->track];
    uint64_t parent = thread_track ? thread_track : marks->process_track;
    if (!*track)
        describe_mark_track(marks, packets, *track = strobe_perfetto_track(marks->key, (*next_track)++), parent, m);
    if (m->is_counter) {
        write_mark_event(marks, packets, *track, m, TYPE_COUNTER);
        return;
    }
    if (m->lane && m->begin_ns == m->end_ns) {
        write_mark_event(marks, packets, *track, m, TYPE_INSTANT);
        return;
    }
    write_mark_event(marks, packets, *track, m, TYPE_BEGIN);
    write_mark_event(marks, packets, *track, m, TYPE_END);
}

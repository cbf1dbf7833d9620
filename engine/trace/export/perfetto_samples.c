#include "engine/trace/export/perfetto_samples.h"

#include "engine/trace/export/perfetto_tables.h"
#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

enum { EVENT_BYTES_MAX = STROBE_PACKETS_EVENT_BYTES }; /* without their texts */

/* ---- the dictionary: images, frames and stacks */

/* Frame ids: first the frames that are not functions. */
enum { FRAME_CUT = 1, FRAME_LOST, FRAME_NO_STACK, FRAME_FUNCTIONS };

static uint32_t image_number_at(const struct strobe_perfetto_samples *w, uint64_t address)
{
    for (uint32_t i = 0; i < w->reader->image_count; i++) {
        const struct strobe_image_entry *image = strobe_reader_image(w->reader, i);
        if (image && address >= image->start && address < image->end)
            return i;
    }
    return w->reader->image_count;
}

/* Opens a packet of the samples' sequence that contains only dictionary entries. */
static uint8_t *dictionary_open(struct strobe_perfetto_samples *w, size_t bytes, uint8_t **packet, uint8_t **data)
{
    uint8_t *p = strobe_packets_room(w->packets, EVENT_BYTES_MAX + bytes);
    *packet = p = pb_open(p, TRACE_PACKET);
    p = pb_uint(p, PACKET_SEQUENCE, w->sequence);
    p = pb_uint(p, PACKET_FLAGS, FLAG_STATE_NEEDED);
    return *data = pb_open(p, PACKET_INTERNED);
}

static void intern_image(struct strobe_perfetto_samples *w, uint32_t index)
{
    if (w->image_known[index])
        return;
    w->image_known[index] = 1;
    const struct strobe_image_entry *image = strobe_reader_image(w->reader, index), none = {.path = "[unknown]"};
    if (!image)
        image = &none;
    size_t id_bytes = image->build_id_bytes <= STROBE_BUILD_ID_BYTES ? image->build_id_bytes : 0;
    uint8_t *packet, *data, *p = dictionary_open(w, STROBE_PATH_BYTES, &packet, &data);
    uint8_t *id = p = pb_open(p, INTERNED_BUILD_ID);
    p = pb_uint(p, 1, index + 1u);
    p = pb_bytes(p, 2, image->build_id, id_bytes);
    p = pb_close(id, p);
    p = strobe_packets_interned(p, INTERNED_PATH, index + 1u, image->path);
    uint8_t *mapping = p = pb_open(p, INTERNED_MAPPING);
    p = pb_uint(p, 1, index + 1u);
    p = pb_uint(p, 2, index + 1u);
    p = pb_uint(p, 4, image->start);
    p = pb_uint(p, 5, image->end);
    p = pb_uint(p, 7, index + 1u);
    p = pb_close(mapping, p);
    p = pb_close(data, p);
    strobe_packets_end(w->packets, packet, p);
}

static void intern_frame(struct strobe_perfetto_samples *w, uint32_t frame, uint32_t name, uint64_t address)
{
    if ((w->failed |= !strobe_array_reserve_zeroed(&w->frame_known, &w->frame_room, (size_t)frame + 1)) ||
        (w->failed |= !strobe_array_reserve_zeroed(&w->function_known, &w->function_room, (size_t)name + 1)) ||
        w->frame_known[frame])
        return;
    uint32_t index = image_number_at(w, address);
    const struct strobe_image_entry *image = strobe_reader_image(w->reader, index);
    intern_image(w, index);
    const char *text = strobe_function_tree_name(w->tree, name)->text;
    uint8_t *packet, *data, *p = dictionary_open(w, strobe_packets_text_bytes(text), &packet, &data);
    if (!w->function_known[name])
        p = strobe_packets_interned(p, INTERNED_FUNCTION, name + 1u, text);
    uint8_t *f = p = pb_open(p, INTERNED_FRAME);
    p = pb_uint(p, 1, frame);
    p = pb_uint(p, 2, name + 1u);
    p = pb_uint(p, 3, index + 1u);
    p = pb_uint(p, 4, image ? address - image->bias : address);
    p = pb_close(f, p);
    p = pb_close(data, p);
    strobe_packets_end(w->packets, packet, p);
    w->function_known[name] = w->frame_known[frame] = 1;
}

/* Interns the frames at one address. Their ids, outermost first, go to ids[]. */
static size_t intern_address(struct strobe_perfetto_samples *w, uint64_t address, uint32_t *ids, size_t max)
{
    const uint32_t *names;
    uint32_t first;
    size_t count = strobe_function_tree_at(w->tree, address, &names, &first);
    if (count > max)
        count = max;
    for (size_t i = 0; i < count; i++) {
        ids[i] = FRAME_FUNCTIONS + first + (uint32_t)i;
        intern_frame(w, ids[i], names[i], address);
    }
    return count;
}

/* Interns the frames of a stack. Their ids, outermost first, go to ids[]. */
static size_t intern_frames(struct strobe_perfetto_samples *w, uint32_t stack, unsigned incomplete, uint32_t *ids,
                            size_t max)
{
    uint64_t address[STROBE_STACK_DEPTH_MAX];
    uint32_t depth;
    size_t count = 0;
    if (incomplete & STROBE_STACK_LOST)
        intern_frame(w, ids[count++] = FRAME_LOST, STROBE_NAME_LOST, 0);
    else if (incomplete & STROBE_STACK_CUT)
        intern_frame(w, ids[count++] = FRAME_CUT, STROBE_NAME_CUT, 0);
    stack = strobe_function_tree_shown_stack(w->tree, stack, incomplete);
    if (!stack ||
        strobe_stack_frames(&w->reader->session.stacks, stack, address, STROBE_STACK_DEPTH_MAX, &depth) != STROBE_OK) {
        intern_frame(w, ids[count++] = FRAME_NO_STACK, STROBE_NAME_NO_STACK, 0);
        return count;
    }
    for (uint32_t i = 0; i < depth; i++)
        count += intern_address(w, address[i], ids + count, max - count);
    if (!count)
        intern_frame(w, ids[count++] = FRAME_NO_STACK, STROBE_NAME_NO_STACK, 0);
    return count;
}

static uint32_t stack_iid(struct strobe_perfetto_samples *w, uint32_t stack, unsigned incomplete)
{
    uint32_t ids[STROBE_STACK_NAMES_MAX];
    uint32_t nodes = strobe_stack_node_count(&w->reader->session.stacks) + 1;
    if (stack >= nodes)
        stack = 0;
    if (!w->stack_iid[incomplete] && !(w->stack_iid[incomplete] = calloc(nodes, sizeof *w->stack_iid[incomplete]))) {
        w->failed = 1;
        return 0;
    }
    uint32_t *iid = &w->stack_iid[incomplete][stack];
    if (*iid)
        return *iid;
    size_t count = intern_frames(w, stack, incomplete, ids, sizeof ids / sizeof ids[0]);
    uint8_t *packet, *data, *p = dictionary_open(w, count * PB_FIELD_BYTES_MAX, &packet, &data);
    uint8_t *s = p = pb_open(p, INTERNED_STACK);
    p = pb_uint(p, 1, *iid = ++w->stack_count);
    for (size_t i = 0; i < count; i++)
        p = pb_uint(p, 2, ids[i]);
    p = pb_close(s, p);
    p = pb_close(data, p);
    strobe_packets_end(w->packets, packet, p);
    return *iid;
}

/* ---- samples */

static void set_sample_clock(struct strobe_perfetto_samples *w)
{
    uint8_t *p = strobe_packets_room(w->packets, EVENT_BYTES_MAX), *packet = p = pb_open(p, TRACE_PACKET);
    p = pb_uint(p, PACKET_SEQUENCE, w->sequence);
    p = pb_uint(p, PACKET_FLAGS, FLAG_STATE_NEEDED);
    p = strobe_packets_delta_clock(p, w->begin_ns);
    strobe_packets_end(w->packets, packet, p);
    w->sample_ns = w->begin_ns;
}

/* Prepares the message that all samples of one thread and stack share. */
static void set_sample(struct strobe_perfetto_samples *w, uint32_t pid, uint32_t tid, uint32_t stack,
                       unsigned incomplete)
{
    uint32_t iid = stack_iid(w, stack, incomplete);
    uint8_t *p = w->sample, *s = p = pb_open(p, PACKET_PERF_SAMPLE);
    p = pb_uint(p, 2, pid);
    p = pb_uint(p, 3, tid);
    p = pb_uint(p, 4, iid);
    p = pb_uint(p, 5, 2);
    p = pb_close(s, p);
    w->sample_bytes = (size_t)(p - w->sample);
    w->last_stack = stack;
    w->last_incomplete = incomplete;
}

static void emit_sample(struct strobe_perfetto_samples *w, uint64_t time_ns)
{
    if (time_ns < w->sample_ns)
        set_sample_clock(w);
    uint8_t *p = strobe_packets_room(w->packets, EVENT_BYTES_MAX), *packet = p = pb_open(p, TRACE_PACKET);
    p = pb_uint(p, PACKET_SEQUENCE, w->sequence);
    p = pb_uint(p, PACKET_FLAGS, FLAG_STATE_NEEDED);
    p = pb_uint(p, PACKET_TIMESTAMP, time_ns - w->sample_ns);
    memcpy(p, w->sample, sizeof w->sample);
    strobe_packets_end(w->packets, packet, p + w->sample_bytes);
    w->sample_ns = time_ns;
}

void strobe_perfetto_samples_add(struct strobe_perfetto_samples *w, uint32_t pid, uint32_t tid,
                                 const struct strobe_samples *s)
{
    if (w->failed)
        return;
    if (!w->sample_bytes || s->stack != w->last_stack || s->incomplete != w->last_incomplete)
        set_sample(w, pid, tid, s->stack, s->incomplete);
    emit_sample(w, s->first_ns);
    if (s->count > 1) {
        uint64_t span = s->last_ns - s->first_ns, steps = s->count - 1, whole = span / steps, rest = span % steps;
        for (uint64_t i = 1; i <= steps; i++)
            emit_sample(w, s->first_ns + whole * i + rest * i / steps);
    }
}

/* ---- processes and threads */

static void write_defaults(struct strobe_perfetto_samples *w)
{
    uint8_t *p = strobe_packets_room(w->packets, EVENT_BYTES_MAX), *packet = p = pb_open(p, TRACE_PACKET);
    uint8_t *defaults;
    p = strobe_packets_begin_sequence(p, w->sequence, w->begin_ns, &defaults);
    uint8_t *s = p = pb_open(p, 12);
    uint8_t *timebase = p = pb_open(p, 1);
    p = pb_uint(p, 2, 1000);
    p = pb_text(p, 10, "samples");
    p = pb_uint(p, 11, 4);
    p = pb_close(timebase, p);
    p = pb_close(s, p);
    p = pb_close(defaults, p);
    strobe_packets_end(w->packets, packet, p);
}

void strobe_perfetto_samples_next_thread(struct strobe_perfetto_samples *w)
{
    w->sample_ns = UINT64_MAX;
    w->sample_bytes = 0;
}

/* Each process has its own stacks and images. */
static void forget_process(struct strobe_perfetto_samples *w)
{
    for (unsigned incomplete = 0; incomplete < STROBE_STACK_INCOMPLETE_COUNT; incomplete++) {
        free(w->stack_iid[incomplete]);
        w->stack_iid[incomplete] = NULL;
    }
    free(w->image_known);
    w->image_known = NULL;
    if (w->frame_known)
        memset(w->frame_known, 0, w->frame_room);
    if (w->function_known)
        memset(w->function_known, 0, w->function_room);
    w->stack_count = 0;
}

void strobe_perfetto_samples_begin(struct strobe_perfetto_samples *w, struct strobe_packets *packets, uint32_t sequence,
                                   const struct strobe_reader *reader, struct strobe_function_tree *tree)
{
    forget_process(w);
    strobe_perfetto_samples_next_thread(w);
    w->packets = packets;
    w->sequence = sequence;
    w->reader = reader;
    w->tree = tree;
    w->begin_ns = strobe_reader_ns(reader, 0);
    w->image_known = calloc((size_t)reader->image_count + 1, 1);
    w->failed |= !w->image_known;
    write_defaults(w);
}

void strobe_perfetto_samples_free(struct strobe_perfetto_samples *w)
{
    forget_process(w);
    free(w->frame_known);
    free(w->function_known);
    *w = (struct strobe_perfetto_samples){.failed = w->failed};
}

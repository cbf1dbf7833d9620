#include "engine/trace/import/perfetto/import_state.h"
#include "engine/base/error_format.h"
#include "engine/util/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct strobe_proto none = {NULL, NULL};

enum strobe_status strobe_import_fail(struct strobe_import *m, enum strobe_status status, const uint8_t *at,
                                      const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (m->outer)
        strobe_error_set(m->error, "byte %zu: in the deflated packet there, byte %zu: %s", (size_t)(m->outer - m->file),
                         (size_t)(at - m->inner), text);
    else
        strobe_error_set(m->error, "byte %zu: %s", (size_t)(at - m->file), text);
    return status;
}

enum strobe_status strobe_import_no_memory(struct strobe_import *m)
{
    strobe_error_set(m->error, "out of memory");
    errno = ENOMEM;
    return STROBE_IO;
}

enum strobe_status strobe_import_bad_field(struct strobe_import *m, const struct strobe_proto *at, const char *where)
{
    return strobe_import_fail(m, STROBE_BAD_INPUT, at->at, "expected a field of %s", where);
}

/* ---- state */

struct strobe_sequence *strobe_import_sequence(struct strobe_import *m, uint32_t id)
{
    int fresh;
    uint32_t *index = strobe_idmap_put(&m->by_sequence, id, 0, &fresh);
    if (!index)
        return NULL;
    if (fresh) {
        if (!strobe_array_reserve(&m->sequences, &m->sequence_capacity, m->sequence_count + 1))
            return NULL;
        *index = m->sequence_count;
        m->sequences[m->sequence_count++] = (struct strobe_sequence){.id = id};
    }
    return &m->sequences[*index];
}

struct strobe_track *strobe_import_track(struct strobe_import *m, uint64_t uuid, int make)
{
    int fresh = 0;
    uint32_t *index = make ? strobe_idmap_put(&m->by_track, uuid, 0, &fresh) : strobe_idmap_get(&m->by_track, uuid, 0);
    if (!index)
        return NULL;
    if (fresh) {
        if (!strobe_array_reserve(&m->tracks, &m->track_capacity, m->track_count + 1))
            return NULL;
        *index = m->track_count;
        m->tracks[m->track_count++] = (struct strobe_track){.name = "", .unit = "", .multiplier = 1};
    }
    return &m->tracks[*index];
}

static uint64_t interned_key(const struct strobe_sequence *s, enum strobe_interned kind)
{
    return (uint64_t)s->id << 32 | (s->epoch * STROBE_INTERNED_KINDS + (uint32_t)kind);
}

static const char *interned_text(struct strobe_import *m, const struct strobe_sequence *s, enum strobe_interned kind,
                                 uint64_t iid)
{
    const uint32_t *number = strobe_idmap_get(&m->by_interned, interned_key(s, kind), iid);
    return number ? m->texts.texts[*number] : NULL;
}

const char *strobe_import_name(struct strobe_import *m, const struct strobe_sequence *s, enum strobe_interned kind,
                               uint64_t iid, struct strobe_proto inline_text)
{
    const char *text = "";
    if (inline_text.at != inline_text.end) {
        text = strobe_text_keep(&m->texts, inline_text.at, (size_t)(inline_text.end - inline_text.at));
    } else if (iid) {
        text = interned_text(m, s, kind, iid);
        m->stats->unknown_names += !text;
    }
    return text ? text : "";
}

enum strobe_status strobe_import_interned(struct strobe_import *m, struct strobe_sequence *s, struct strobe_proto data)
{
    struct strobe_proto_field f, g;
    enum strobe_proto_step step;
    while ((step = strobe_proto_next(&data, &f)) == STROBE_PROTO_FIELD) {
        enum strobe_interned kind = f.number == 1   ? STROBE_INTERNED_CATEGORIES
                                    : f.number == 2 ? STROBE_INTERNED_NAMES
                                    : f.number == 3 ? STROBE_INTERNED_NOTES
                                                    : STROBE_INTERNED_KINDS;
        if (kind == STROBE_INTERNED_KINDS || f.wire != STROBE_WIRE_BYTES)
            continue;
        struct strobe_proto entry = f.bytes, text = none;
        uint64_t iid = 0;
        while ((step = strobe_proto_next(&entry, &g)) == STROBE_PROTO_FIELD) {
            if (g.number == 1 && g.wire == STROBE_WIRE_VARINT)
                iid = g.value;
            else if (g.number == 2 && g.wire == STROBE_WIRE_BYTES)
                text = g.bytes;
        }
        if (step == STROBE_PROTO_BAD)
            return strobe_import_bad_field(m, &entry, "an interned name");
        int fresh;
        uint32_t number = strobe_text_number(&m->texts, text.at, (size_t)(text.end - text.at));
        uint32_t *place =
            number == UINT32_MAX ? NULL : strobe_idmap_put(&m->by_interned, interned_key(s, kind), iid, &fresh);
        if (!place)
            return strobe_import_no_memory(m);
        *place = number;
    }
    return step == STROBE_PROTO_BAD ? strobe_import_bad_field(m, &data, "interned data") : STROBE_OK;
}

/* ---- clocks */

static struct strobe_private_clock *private_clock_of(struct strobe_sequence *s, uint32_t id)
{
    for (uint32_t i = 0; i < s->clock_count; i++)
        if (s->clocks[i].id == id)
            return &s->clocks[i];
    return NULL;
}

static void set_private_clock(struct strobe_sequence *s, const struct strobe_private_clock *c)
{
    struct strobe_private_clock *known = private_clock_of(s, c->id);
    if (!known && s->clock_count < STROBE_PRIVATE_CLOCKS)
        known = &s->clocks[s->clock_count++];
    if (known)
        *known = *c;
}

static enum strobe_status read_clock(struct strobe_import *m, struct strobe_proto clock,
                                     struct strobe_private_clock *out)
{
    struct strobe_proto_field f;
    enum strobe_proto_step step;
    *out = (struct strobe_private_clock){.multiplier = 1};
    while ((step = strobe_proto_next(&clock, &f)) == STROBE_PROTO_FIELD) {
        if (f.wire != STROBE_WIRE_VARINT)
            continue;
        switch (f.number) {
        case 1: out->id = f.value < UINT32_MAX ? (uint32_t)f.value : 0; break;
        case 2: out->base_value = out->now = f.value; break;
        case 3: out->incremental = f.value != 0; break;
        case 4: out->multiplier = f.value ? f.value : 1; break;
        default: break;
        }
    }
    return step == STROBE_PROTO_BAD ? strobe_import_bad_field(m, &clock, "a clock") : STROBE_OK;
}

/* The clocks of one snapshot have their values at the same time. */
enum strobe_status strobe_import_clocks(struct strobe_import *m, struct strobe_sequence *s,
                                        struct strobe_proto snapshot)
{
    struct strobe_proto_field f;
    enum strobe_proto_step step;
    struct strobe_private_clock c;
    uint64_t boot_ns = 0;
    for (int pass = 0; pass < 2; pass++) {
        struct strobe_proto at = snapshot;
        while ((step = strobe_proto_next(&at, &f)) == STROBE_PROTO_FIELD) {
            if (f.number != 1 || f.wire != STROBE_WIRE_BYTES)
                continue;
            enum strobe_status status = read_clock(m, f.bytes, &c);
            if (status != STROBE_OK)
                return status;
            if (pass == 0) {
                if (c.id == STROBE_CLOCK_BOOT)
                    boot_ns = c.base_value;
            } else if (c.id >= STROBE_CLOCK_PRIVATE) {
                c.base_ns = boot_ns;
                set_private_clock(s, &c);
            } else {
                m->offsets[c.id] = boot_ns - c.base_value;
            }
        }
        if (step == STROBE_PROTO_BAD)
            return strobe_import_bad_field(m, &at, "a clock snapshot");
    }
    return STROBE_OK;
}

enum strobe_status strobe_import_time(struct strobe_import *m, struct strobe_sequence *s, uint32_t clock,
                                      uint64_t timestamp, const uint8_t *at, uint64_t *out)
{
    if (!clock)
        clock = s->default_clock ? s->default_clock : STROBE_CLOCK_BOOT;
    if (clock < STROBE_CLOCK_PRIVATE) {
        *out = timestamp + m->offsets[clock];
        return STROBE_OK;
    }
    struct strobe_private_clock *c = private_clock_of(s, clock);
    if (!c)
        return strobe_import_fail(m, STROBE_BAD_INPUT, at, "expected a snapshot of clock %" PRIu32 " before its use",
                                  clock);
    c->now = c->incremental ? c->now + timestamp : timestamp;
    *out = c->base_ns + (c->now - c->base_value) * c->multiplier;
    return STROBE_OK;
}

void strobe_import_state_free(struct strobe_import *m)
{
    strobe_text_pool_free(&m->texts);
    strobe_idmap_free(&m->by_sequence);
    strobe_idmap_free(&m->by_track);
    strobe_idmap_free(&m->by_interned);
    free(m->sequences);
    free(m->tracks);
}

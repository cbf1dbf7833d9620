/* Reads the protobuf wire format (https://protobuf.dev/programming-guides/encoding/) field by field. The memory may
 * have any contents. Any thread. */
#ifndef STROBE_TRACE_IMPORT_PERFETTO_PROTO_READ_H
#define STROBE_TRACE_IMPORT_PERFETTO_PROTO_READ_H

#include "engine/base/varint.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_proto {
    const uint8_t *at, *end;
};

enum strobe_wire { STROBE_WIRE_VARINT = 0, STROBE_WIRE_FIXED64 = 1, STROBE_WIRE_BYTES = 2, STROBE_WIRE_FIXED32 = 5 };

struct strobe_proto_field {
    uint32_t number;
    enum strobe_wire wire;
    uint64_t value;            /* of all wire types except BYTES */
    struct strobe_proto bytes; /* of BYTES: a text, packed numbers, or a message */
};

enum strobe_proto_step { STROBE_PROTO_FIELD, STROBE_PROTO_END, STROBE_PROTO_BAD };

static inline uint64_t strobe_proto_fixed(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

/* Reads the next field of the message. BAD: malformed or truncated; m->at stays before the field. */
static inline enum strobe_proto_step strobe_proto_next(struct strobe_proto *m, struct strobe_proto_field *f)
{
    uint64_t key;
    if (m->at >= m->end)
        return STROBE_PROTO_END;
    const uint8_t *p = strobe_varint_get(m->at, m->end, &key);
    if (!p || key >> 3 == 0 || key >> 3 > 0x1fffffff)
        return STROBE_PROTO_BAD;
    f->number = (uint32_t)(key >> 3);
    f->wire = (enum strobe_wire)(key & 7);
    f->value = 0;
    f->bytes = (struct strobe_proto){p, p};
    size_t left = (size_t)(m->end - p);
    switch (f->wire) {
    case STROBE_WIRE_VARINT: p = strobe_varint_get(p, m->end, &f->value); break;
    case STROBE_WIRE_FIXED64:
    case STROBE_WIRE_FIXED32: {
        unsigned bytes = f->wire == STROBE_WIRE_FIXED64 ? 8 : 4;
        if (left < bytes)
            return STROBE_PROTO_BAD;
        f->value = strobe_proto_fixed(p, bytes);
        p += bytes;
        break;
    }
    case STROBE_WIRE_BYTES: {
        uint64_t bytes;
        p = strobe_varint_get(p, m->end, &bytes);
        if (!p || bytes > (uint64_t)(m->end - p))
            return STROBE_PROTO_BAD;
        f->bytes = (struct strobe_proto){p, p + bytes};
        p += bytes;
        break;
    }
    default: return STROBE_PROTO_BAD;
    }
    if (!p)
        return STROBE_PROTO_BAD;
    m->at = p;
    return STROBE_PROTO_FIELD;
}

#endif

/* Writes protobuf messages into memory, as far as Perfetto traces need it
 * (https://protobuf.dev/programming-guides/encoding/). Each call writes at p and returns the new end. The caller
 * provides the space. A nested message reserves one byte for its length. If its length needs more bytes, the message is
 * moved; nearly all messages are shorter than 128 bytes. */
#ifndef STROBE_TRACE_EXPORT_PB_H
#define STROBE_TRACE_EXPORT_PB_H

#include "engine/base/varint.h"

#include <stdint.h>
#include <string.h>

enum { PB_TAG_BYTES_MAX = 5, PB_FIELD_BYTES_MAX = PB_TAG_BYTES_MAX + STROBE_VARINT_BYTES_MAX };

static inline uint8_t *pb_uint(uint8_t *p, unsigned field, uint64_t value)
{
    return strobe_varint_put(strobe_varint_put(p, field << 3), value);
}

static inline uint8_t *pb_bytes(uint8_t *p, unsigned field, const void *data, size_t bytes)
{
    p = strobe_varint_put(strobe_varint_put(p, field << 3 | 2), bytes);
    memcpy(p, data, bytes);
    return p + bytes;
}

static inline uint8_t *pb_text(uint8_t *p, unsigned field, const char *text)
{
    return pb_bytes(p, field, text, strlen(text));
}

/* Begins a nested message. Returns the start of its content, which the caller passes to pb_close. */
static inline uint8_t *pb_open(uint8_t *p, unsigned field)
{
    return strobe_varint_put(p, field << 3 | 2) + 1;
}

/* Ends the message whose content is [content, p). Returns the new end. Needs up to 4 more bytes of space. */
static inline uint8_t *pb_close(uint8_t *content, uint8_t *p)
{
    size_t bytes = (size_t)(p - content), extra = 0;
    if (bytes < 0x80) {
        content[-1] = (uint8_t)bytes;
        return p;
    }
    for (size_t rest = bytes >> 7; rest; rest >>= 7)
        extra++;
    memmove(content + extra, content, bytes);
    strobe_varint_put(content - 1, bytes);
    return p + extra;
}

#endif

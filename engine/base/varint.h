/* Base-128 varints in the protobuf encoding (https://protobuf.dev/programming-guides/encoding/): seven bits a byte,
 * lowest bits first; the top bit of a byte is set when another byte follows. Any context. */
#ifndef STROBE_BASE_VARINT_H
#define STROBE_BASE_VARINT_H

#include <stddef.h>
#include <stdint.h>

enum { STROBE_VARINT_BYTES_MAX = 10 };

/* Writes v at p and returns the address behind it. The caller provides STROBE_VARINT_BYTES_MAX bytes at p. */
static inline uint8_t *strobe_varint_put(uint8_t *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

/* Reads a varint from [p, end) into *v. Returns the address behind it, or NULL when the varint is cut off or longer
 * than ten bytes. */
static inline const uint8_t *strobe_varint_get(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
    uint64_t r = 0;
    for (unsigned shift = 0; p < end && shift < 70; shift += 7) {
        uint8_t c = *p++;
        r |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) {
            *v = r;
            return p;
        }
    }
    return NULL;
}

#endif

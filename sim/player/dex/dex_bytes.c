#include "sim/player/dex/dex_bytes.h"

#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

void sim_dex_put(struct sim_dex_bytes *b, const void *bytes, size_t count)
{
    if (b->failed || (b->failed = !strobe_array_reserve(&b->at, &b->room, b->count + count)))
        return;
    memcpy(b->at + b->count, bytes, count);
    b->count += count;
}

void sim_dex_put16(struct sim_dex_bytes *b, uint32_t n)
{
    sim_dex_put(b, (uint8_t[]){(uint8_t)n, (uint8_t)(n >> 8)}, 2);
}

void sim_dex_put32(struct sim_dex_bytes *b, uint32_t n)
{
    sim_dex_put16(b, n);
    sim_dex_put16(b, n >> 16);
}

void sim_dex_put_uleb(struct sim_dex_bytes *b, uint32_t n)
{
    for (; n > 0x7f; n >>= 7)
        sim_dex_put(b, (uint8_t[]){(uint8_t)(n | 0x80)}, 1);
    sim_dex_put(b, (uint8_t[]){(uint8_t)n}, 1);
}

void sim_dex_align(struct sim_dex_bytes *b, size_t to)
{
    while (b->count % to && !b->failed)
        sim_dex_put(b, "", 1);
}

void sim_dex_set32(struct sim_dex_bytes *b, size_t at, uint32_t n)
{
    if (!b->failed)
        memcpy(b->at + at, (uint8_t[]){(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16), (uint8_t)(n >> 24)}, 4);
}

/* ---- checksums ---- */

uint32_t sim_dex_adler32(const uint8_t *bytes, size_t count)
{
    uint32_t low = 1, high = 0;
    for (size_t i = 0; i < count; i++) {
        low = (low + bytes[i]) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}

static uint32_t rotate_left(uint32_t n, unsigned by)
{
    return n << by | n >> (32 - by);
}

static void sha1_block(uint32_t state[5], const uint8_t block[64])
{
    uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[i * 4] << 24 | (uint32_t)block[i * 4 + 1] << 16 | (uint32_t)block[i * 4 + 2] << 8 |
               block[i * 4 + 3];
    for (int i = 16; i < 80; i++)
        w[i] = rotate_left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t mixed = i < 20 ? (b & c) | (~b & d) : i < 40 || i >= 60 ? b ^ c ^ d : (b & c) | (b & d) | (c & d);
        static const uint32_t constant[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
        uint32_t next = rotate_left(a, 5) + mixed + e + w[i] + constant[i / 20];
        e = d;
        d = c;
        c = rotate_left(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

void sim_dex_sha1(const uint8_t *bytes, size_t count, uint8_t out[20])
{
    uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    size_t whole = count / 64 * 64, rest = count - whole;
    uint8_t tail[128] = {0};
    for (size_t i = 0; i < whole; i += 64)
        sha1_block(state, bytes + i);
    memcpy(tail, bytes + whole, rest);
    tail[rest] = 0x80;
    size_t end = rest + 9 <= 64 ? 64 : 128;
    for (int i = 0; i < 8; i++)
        tail[end - 1 - (size_t)i] = (uint8_t)((uint64_t)count * 8 >> (8 * i));
    for (size_t i = 0; i < end; i += 64)
        sha1_block(state, tail + i);
    for (int i = 0; i < 20; i++)
        out[i] = (uint8_t)(state[i / 4] >> (24 - i % 4 * 8));
}

/* Writer for the bytes of a dex file, and the two checksums of its header. For sim/player/dex only. Allocates. A writer
 * without memory sets `failed` and ignores all later calls. */
#ifndef STROBE_SIM_PLAYER_DEX_DEX_BYTES_H
#define STROBE_SIM_PLAYER_DEX_DEX_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_dex_bytes {
    uint8_t *at;
    size_t count, room;
    bool failed;
};

void sim_dex_put(struct sim_dex_bytes *b, const void *bytes, size_t count);
void sim_dex_put16(struct sim_dex_bytes *b, uint32_t n); /* the lower half of n, little-endian */
void sim_dex_put32(struct sim_dex_bytes *b, uint32_t n);
void sim_dex_put_uleb(struct sim_dex_bytes *b, uint32_t n); /* ULEB128 */
void sim_dex_align(struct sim_dex_bytes *b, size_t to);     /* appends zeros up to a multiple of `to` */
void sim_dex_set32(struct sim_dex_bytes *b, size_t at, uint32_t n);

/* Adler-32 (RFC 1950, section 8.2). */
uint32_t sim_dex_adler32(const uint8_t *bytes, size_t count);

/* SHA-1 (RFC 3174). */
void sim_dex_sha1(const uint8_t *bytes, size_t count, uint8_t out[20]);

#endif

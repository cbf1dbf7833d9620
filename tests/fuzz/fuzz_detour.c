/* Instructions that a detour decodes and moves: with any bytes, decoding and moving end, read nothing outside of the
 * bytes, and write no more than detour_code.h promises. */
#include "engine/backend/art/detour/detour_code.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { PLACE_BYTES = 4096, MOVED_MAX = 32, LONGEST = 15 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static _Alignas(8) uint8_t place[PLACE_BYTES];
    uint8_t *code = malloc(bytes ? bytes : 1); /* the address sanitizer guards its end */
    struct strobe_detour_step step;
    memcpy(code, data, bytes);
    for (const uint8_t *at = code, *end = code + bytes; at < end; at += step.bytes) {
        struct strobe_detour_code c = {place, (uint64_t *)(void *)(place + PLACE_BYTES)};
        if (!strobe_detour_step(at, end, &step)) {
            step.bytes = 1;
            continue;
        }
        if (!step.bytes || step.bytes > LONGEST || at + step.bytes > end)
            abort();
        strobe_detour_move(&c, at, end);
        if (c.at > place + MOVED_MAX || c.words < (uint64_t *)(void *)(place + PLACE_BYTES) - 1)
            abort();
    }
    free(code);
    return 0;
}

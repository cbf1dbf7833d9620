/* Entry of Matrix's packed method log: one word that records the entry into or the exit from a method, and its time.
 *
 * The capture half writes such entries (matrix_log.h), dumps contain them, and the reading half decodes them
 * (engine/trace/import/matrix/matrix_stack.h).
 *
 *     bit 63       1 = entered, 0 = left
 *     bits 62..43  the method's id
 *     bits 42..0   ms since the log was opened; 43 bits last for 278 years
 *
 * A word of 0 is not an entry. Ids of methods are 1 .. STROBE_MATRIX_ID_MAX. The id STROBE_MATRIX_DISPATCH does not
 * stand for a method: it stands for the dispatch of a message by the message loop. A dump is an array of these words,
 * little-endian, and nothing else.
 *
 * Source: Tencent Matrix 3b8293bd, AppMethodBeat, as studied. Any context. */
#ifndef STROBE_METHOD_MATRIX_MATRIX_ENTRY_H
#define STROBE_METHOD_MATRIX_MATRIX_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    STROBE_MATRIX_DISPATCH = 0xFFFFE,
    STROBE_MATRIX_ID_MAX = STROBE_MATRIX_DISPATCH - 1,
    STROBE_MATRIX_ID_SHIFT = 43,
    STROBE_MATRIX_ID_MASK = 0xFFFFF,
};
#define STROBE_MATRIX_ENTER  (UINT64_C(1) << 63)
#define STROBE_MATRIX_MS_MAX ((UINT64_C(1) << STROBE_MATRIX_ID_SHIFT) - 1)

static inline uint64_t strobe_matrix_entry(bool enter, uint32_t id, uint64_t ms)
{
    return (enter ? STROBE_MATRIX_ENTER : 0) | (uint64_t)(id & STROBE_MATRIX_ID_MASK) << STROBE_MATRIX_ID_SHIFT |
           (ms & STROBE_MATRIX_MS_MAX);
}

static inline bool strobe_matrix_is_enter(uint64_t entry)
{
    return entry >> 63;
}

static inline uint32_t strobe_matrix_id(uint64_t entry)
{
    return (uint32_t)(entry >> STROBE_MATRIX_ID_SHIFT) & STROBE_MATRIX_ID_MASK;
}

static inline uint64_t strobe_matrix_ms(uint64_t entry)
{
    return entry & STROBE_MATRIX_MS_MAX;
}

#endif

/* Matrix's method log and streams of its events. From any entries of a dump, both contracts make a stack within
 * their bounds, and the documented one makes a tree. Parsing any text of a line ends. The first byte selects the
 * parsing: bit 0 as text, bit 1 strict, bit 2 with an end. */
#include "engine/method/matrix/matrix_entry.h"
#include "engine/trace/import/matrix/matrix_events.h"
#include "engine/trace/import/matrix/matrix_raw.h"
#include "engine/trace/import/matrix/matrix_stack.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { MOST = 1 << 16 };

static void build(const uint64_t *entries, size_t count, bool strict, int64_t end_ms)
{
    for (unsigned contract = STROBE_MATRIX_DOCUMENTED; contract <= STROBE_MATRIX_UPSTREAM; contract++) {
        struct strobe_matrix_stack stack;
        struct strobe_matrix_builder *b = strobe_matrix_builder_open(contract);
        uint32_t key;
        char line[64];
        if (!b || strobe_matrix_build(b, entries, count, strict, end_ms, &stack, NULL) != STROBE_OK)
            abort();
        for (int trimmed = 0; trimmed < 2; trimmed++) {
            for (size_t i = 0; i < stack.count; i++) {
                const struct strobe_matrix_item *item = &stack.items[i];
                strobe_matrix_line(item, NULL, line, sizeof line);
                if (contract == STROBE_MATRIX_DOCUMENTED &&
                    (item->depth > (i ? item[-1].depth + 1 : 0) || item->depth < 0 || item->duration_ms < 0))
                    abort();
            }
            if (strobe_matrix_key(contract, &stack, strobe_matrix_longest(&stack), &key) != (stack.count > 0))
                abort();
            strobe_matrix_trim(contract, &stack, STROBE_MATRIX_TRIM);
        }
        strobe_matrix_builder_close(b);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (!bytes)
        return 0;
    bool strict = *data & 2;
    int64_t end_ms = *data & 4 ? 5000000000 : STROBE_MATRIX_NO_END;
    if (*data & 1) {
        struct strobe_matrix_events e = {0};
        size_t column = 0;
        const char *expected = NULL;
        enum strobe_status status =
            strobe_matrix_events_parse((const char *)data + 1, bytes - 1, &e, &column, &expected);
        if (status == STROBE_OK)
            build(e.entries, e.count, strict, e.end_ms);
        else if (status != STROBE_BAD_INPUT || !expected || column < 1 || column > bytes)
            abort();
        strobe_matrix_events_free(&e);
        return 0;
    }
    static uint64_t entries[MOST];
    size_t count = (bytes - 1) / sizeof *entries < MOST ? (bytes - 1) / sizeof *entries : MOST, at = 0, begin = 0;
    memcpy(entries, data + 1, count * sizeof *entries);
    while (strobe_matrix_next_message(entries, count, &at, &begin)) {
        if (begin >= at || at > count)
            abort();
        build(entries + begin, at - begin, strict, end_ms);
    }
    build(entries, count, strict, end_ms);
    return 0;
}

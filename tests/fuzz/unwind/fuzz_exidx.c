/* Damaged exception tables of 32-bit ARM: with any bytes, a search for a rule ends and reads nothing outside of them,
 * and a rule has one of the forms that walks know.
 *
 * libFuzzer's input: the number of entries, the address of the code modulo 64 KiB (2), and the bytes of the table. */
#include "engine/backend/linux/exidx.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { HEAD_BYTES = 3, TABLE = 0x20000, CODE = 0x10000, PLACES = 16 };

static void check_rule(const struct strobe_unwind_rule *r)
{
    bool known = r->kind == STROBE_UNWIND_NONE || r->kind == STROBE_UNWIND_FRAME || r->kind == STROBE_UNWIND_DEREF;
    if (!known || r->base >= 16 || r->ra > STROBE_SAVED_AT_SP || r->fp > STROBE_SAVED_LOST || r->bx > STROBE_SAVED_LOST)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_eh_frame e;
    if (bytes < HEAD_BYTES)
        return 0;
    uint64_t size = bytes - HEAD_BYTES, code = CODE + (uint64_t)(data[1] | data[2] << 8);
    uint8_t *at = malloc(size ? size : 1); /* of this size, so that a sanitizer sees each read outside */
    if (!at)
        abort();
    memcpy(at, data + HEAD_BYTES, size);
    if (strobe_exidx_open(at, size, TABLE, TABLE, (uint64_t)data[0] * STROBE_EXIDX_ENTRY_BYTES, &e) == STROBE_OK) {
        for (uint64_t i = 0; i < PLACES; i++) {
            struct strobe_unwind_rule rule = strobe_exidx_rule(&e, code + 64 * i);
            check_rule(&rule);
            if (rule.kind != STROBE_UNWIND_NONE && !strobe_exidx_covers(&e, code + 64 * i))
                abort();
        }
        strobe_exidx_keeps_fp(&e);
    }
    free(at);
    return 0;
}

/* A list of names of generated machine code, from a perf map or a jitdump file. Reading half: allocates. */
#ifndef STROBE_TRACE_SYMBOLS_CODE_LIST_H
#define STROBE_TRACE_SYMBOLS_CODE_LIST_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* One name, of the code in [start, start + bytes). start + bytes does not wrap, and bytes > 0. */
struct strobe_code {
    uint64_t start, bytes;
    uint64_t begin;   /* time from which the name is valid, on the file's clock; 0 in a perf map */
    const char *name; /* points into the file's content; at least one byte, without NUL */
    uint32_t name_bytes;
};

struct strobe_code_list {
    struct strobe_code *at; /* in the order of the file */
    size_t count, room;
    uint64_t bad;       /* malformed lines or records, left out */
    uint64_t first_bad; /* the first malformed one: number of the line (from 1), or offset of the record */
};

/* Appends `code`. Counts it as malformed if its range is empty or wraps, or if its name is empty. `place` is its line
 * or offset. STROBE_IO: out of memory. */
enum strobe_status strobe_code_list_add(struct strobe_code_list *list, const struct strobe_code *code, uint64_t place);

/* Counts a malformed line or record. */
void strobe_code_list_add_bad(struct strobe_code_list *list, uint64_t place);

void strobe_code_list_free(struct strobe_code_list *list);

#endif

/* A list of names of generated machine code, as a perf map or a jitdump file gives them. Reading half: allocates. */
#ifndef STROBE_TRACE_SYMBOLS_CODE_LIST_H
#define STROBE_TRACE_SYMBOLS_CODE_LIST_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* One name, of the code in [start, start + bytes). start + bytes does not wrap, and bytes > 0. */
struct strobe_code {
    uint64_t start, bytes;
    uint64_t begin;   /* when the name begins to hold, as the file's timestamps; 0 in a perf map */
    const char *name; /* in the file's own memory, not ended by NUL, at least one byte */
    uint32_t name_bytes;
};

struct strobe_code_list {
    struct strobe_code *at; /* in the order of the file */
    size_t count, room;
    uint64_t bad;       /* lines or records that do not have the form of the format: left out */
    uint64_t first_bad; /* the first of them: number of the line (from 1), or offset of the record */
};

/* Appends `code`, or counts it as bad when its range is empty or wraps, or its name is empty. `place` is its line or
 * offset. STROBE_IO: out of memory. */
enum strobe_status strobe_code_list_add(struct strobe_code_list *list, const struct strobe_code *code, uint64_t place);

/* Counts a bad line or record. */
void strobe_code_list_add_bad(struct strobe_code_list *list, uint64_t place);

void strobe_code_list_free(struct strobe_code_list *list);

#endif

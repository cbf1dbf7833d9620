/* Names that only the traced process knows: those of a managed runtime's methods, whose frames are addresses of the
 * runtime's own data. The process writes names when capture ends, and before a copy of a running session is made,
 * behind the session's regions (session.h).
 *
 *   region   struct strobe_names_head
 *   +16      entry: address u64, length u32, flags u32, text, zeros up to a multiple of 8
 *            ...
 *
 * With STROBE_NAME_CODE an entry names a range of generated machine code. Two numbers then precede its text, and the
 * length includes them: bytes of code u64, and the tick u64 from which the name is valid. `strobe record` adds these
 * entries after the program has ended (engine/trace/symbols/jit_names.h).
 *
 * At its start a capture can add notes, which say which of its features are in place (STROBE_NAME_NOTE).
 *
 * The region has one writer at a time. The writer stores `used` with release when an entry is whole, so a reader finds
 * only whole entries, also when the process was killed during a write. */
#ifndef STROBE_STORE_NAMES_H
#define STROBE_STORE_NAMES_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Flags of an entry. */
enum {
    STROBE_NAME_STALE = 1, /* the method was gone when the names were written; the text is a placeholder */
    STROBE_NAME_CODE = 2,  /* the name covers [address, address + code_bytes), from begin_ticks on */
    STROBE_NAME_NOTE = 4,  /* no name: a line about a feature of the capture; the address is the line's number */
};

enum { STROBE_NAME_BYTES_MAX = 1 << 14 }; /* bytes of a text; a longer text is cut */

struct strobe_names_head {
    strobe_a64 used, refused;
}; /* bytes of entries; number of names that did not fit */

/* A view of the region. head is NULL when the session has no region of names. */
struct strobe_names {
    struct strobe_names_head *head;
    uint64_t bytes;
};

struct strobe_named_address {
    uint64_t address;
    const char *text; /* `bytes` long, without a terminating NUL */
    uint32_t bytes, flags;
    uint64_t code_bytes, begin_ticks; /* 0 without STROBE_NAME_CODE */
};

/* Adds the name of an address that has no name yet. STROBE_FULL: the name does not fit; it is counted in `refused`.
 * STROBE_UNSUPPORTED: the session has no region of names. By the one writer; allocates nothing from the heap. */
enum strobe_status strobe_names_add(const struct strobe_names *n, uint64_t address, const char *text, size_t bytes,
                                    uint32_t flags);

/* Adds the name of code_bytes bytes of code at `address`, valid from the tick begin_ticks on. An address may have
 * several such names. The function sets STROBE_NAME_CODE itself. Status and context as for strobe_names_add. */
enum strobe_status strobe_names_add_code(const struct strobe_names *n, const struct strobe_named_address *code);

/* Returns the bytes of the region that a text of `text_bytes` occupies: with strobe_names_add, or, if `is_code`, with
 * strobe_names_add_code. */
uint64_t strobe_names_entry_bytes(uint32_t text_bytes, bool is_code);

/* Copies the first name at or after *at (0 = the first entry) to *out, and moves *at behind it. Notes are left out.
 * Returns false when no name follows, or an entry before it is damaged. */
bool strobe_names_next(const struct strobe_names *n, uint64_t *at, struct strobe_named_address *out);

/* The same for notes; names are left out. */
bool strobe_names_next_note(const struct strobe_names *n, uint64_t *at, struct strobe_named_address *out);

#endif

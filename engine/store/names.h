/* Names that only the traced process can tell: of a managed runtime's methods, whose frames are addresses of the
 * runtime's own data. Written once, when capture ends; kept behind the session's regions (session.h).
 *
 *   region   struct strobe_names_head
 *   +16      entry: address u64, length u32, flags u32, text, zeros up to a multiple of 8
 *            ...
 *
 * With STROBE_NAME_CODE an entry names a range of generated machine code. Its text is then preceded by two numbers,
 * which the length includes: bytes of code u64, and the tick u64 from which the name holds. `strobe record` adds these
 * entries after the program has ended (engine/trace/symbols/jit_names.h).
 *
 * One writer. `used` is stored with release when an entry is whole, so that whoever reads meets whole entries only,
 * also after the process was killed in between. */
#ifndef STROBE_STORE_NAMES_H
#define STROBE_STORE_NAMES_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Flags. */
enum {
    STROBE_NAME_STALE = 1,   /* what stood at the address had gone by then; the text is a placeholder */
    STROBE_NAME_CODE = 2,    /* names all addresses in [address, address + code_bytes), from begin_ticks on */
};

enum { STROBE_NAME_BYTES_MAX = 1 << 14 };   /* of a text; longer ones are cut */

struct strobe_names_head { strobe_a64 used, refused; };   /* bytes of entries; names there was no room for */

/* A view of the region; head is NULL when the session has none. */
struct strobe_names { struct strobe_names_head *head; uint64_t bytes; };

struct strobe_named_address {
    uint64_t address;
    const char *text;                   /* `bytes` long, without a NUL at its end */
    uint32_t bytes, flags;
    uint64_t code_bytes, begin_ticks;   /* 0 without STROBE_NAME_CODE */
};

/* Adds the name of an address, which has none yet. STROBE_FULL: no room, counted. STROBE_UNSUPPORTED: the session has
 * no region of names. By the one writer; takes no memory from the heap. */
enum strobe_status strobe_names_add(const struct strobe_names *n, uint64_t address, const char *text, size_t bytes,
                                    uint32_t flags);

/* Adds the name of code_bytes bytes of code at `address` from the tick begin_ticks on; an address may have several such
 * names. Sets STROBE_NAME_CODE itself. Status and context as for strobe_names_add. */
enum strobe_status strobe_names_add_code(const struct strobe_names *n, const struct strobe_named_address *code);

/* Bytes of the region that strobe_names_add takes for a text of `text_bytes`, or strobe_names_add_code. */
uint64_t strobe_names_entry_bytes(uint32_t text_bytes, bool is_code);

/* The entry at *at (0 = the first), and moves *at to the next. False: there are no more, or what follows is damaged. */
bool strobe_names_next(const struct strobe_names *n, uint64_t *at, struct strobe_named_address *out);

#endif

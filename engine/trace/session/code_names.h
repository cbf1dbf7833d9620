/* Looks up names of generated machine code: the entries of a session's names with STROBE_NAME_CODE (store/names.h).
 *
 * Memory of generated code is used again, so one address can have several names, each from a tick on. The name of an
 * address at a tick is the one that began last by then; before all of them, the one that began first. Of several that
 * began at the same tick the later entry holds.
 *
 * A stack is a list of addresses without a time. The reader (reader.h) therefore replaces each address that has had
 * several names by an alias, a number that stands for one entry; see strobe_code_alias.
 *
 * Reading half: allocates. The session must stay mapped as long as the index lives. */
#ifndef STROBE_TRACE_SESSION_CODE_NAMES_H
#define STROBE_TRACE_SESSION_CODE_NAMES_H

#include "engine/base/status.h"
#include "engine/store/names.h"

struct strobe_code_entry {
    uint64_t start, end, begin_ticks, at;
}; /* at: its place for strobe_names_next */

struct strobe_code_names {
    struct strobe_code_entry *entries; /* by start */
    uint64_t *reach;                   /* by entry: the greatest end of it and of those before it */
    size_t count;
};

/* STROBE_IO: out of memory. Names without any code give an empty index. */
enum strobe_status strobe_code_names_open(const struct strobe_names *names, struct strobe_code_names *out);
void strobe_code_names_close(struct strobe_code_names *index);

/* The entry that names `address` at `ticks`, or NULL when none does at any time. *changes (may be NULL): whether
 * another entry names it at another time. */
const struct strobe_code_entry *strobe_code_names_find(const struct strobe_code_names *index, uint64_t address,
                                                       uint64_t ticks, int *changes);

/* The address that stands for the entry in stacks: in the half of the address space that no user code lies in. */
static inline uint64_t strobe_code_alias(const struct strobe_code_entry *entry)
{
    return (uint64_t)1 << 63 | entry->at;
}

/* The place of the entry that an alias stands for. Returns 0 when `address` is no alias. */
static inline int strobe_code_of_alias(uint64_t address, uint64_t *at)
{
    *at = address & ~((uint64_t)1 << 63);
    return *at != address;
}

#endif

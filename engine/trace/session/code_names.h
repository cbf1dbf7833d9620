/* Looks up names of generated machine code: the entries of a session's names with STROBE_NAME_CODE (store/names.h).
 *
 * Memory of generated code is reused, so one address can have several names, each valid from some tick on. The name of
 * an address at a tick is the last one that began by then. If all began later, it is the first one that began. Of
 * several that began at the same tick, the last entry is valid.
 *
 * A stack is a list of addresses without a time. The reader (reader.h) therefore replaces each address that has had
 * several names by an alias, a number that stands for one entry; see strobe_code_alias.
 *
 * Reading half: allocates. The session must stay mapped while the index exists. */
#ifndef STROBE_TRACE_SESSION_CODE_NAMES_H
#define STROBE_TRACE_SESSION_CODE_NAMES_H

#include "engine/base/status.h"
#include "engine/store/names.h"

struct strobe_code_entry {
    uint64_t start, end, begin_ticks, at;
}; /* at: its position for strobe_names_next */

struct strobe_code_names {
    struct strobe_code_entry *entries; /* by start */
    uint64_t *reach;                   /* by entry: the greatest end of this entry and all earlier ones */
    size_t count;
};

/* Makes an index. Names without code give an empty index. STROBE_IO: out of memory. */
enum strobe_status strobe_code_names_open(const struct strobe_names *names, struct strobe_code_names *out);
void strobe_code_names_close(struct strobe_code_names *index);

/* Returns the entry that names `address` at `ticks`, or NULL if no entry ever names it. *changes (may be NULL): 1 if
 * another entry names it at another time. */
const struct strobe_code_entry *strobe_code_names_find(const struct strobe_code_names *index, uint64_t address,
                                                       uint64_t ticks, int *changes);

/* Returns the address that stands for the entry in stacks. It lies in the half of the address space without user
 * code. */
static inline uint64_t strobe_code_alias(const struct strobe_code_entry *entry)
{
    return (uint64_t)1 << 63 | entry->at;
}

/* Returns in *at the position of the entry that an alias stands for. Returns 0 if `address` is not an alias. */
static inline int strobe_code_of_alias(uint64_t address, uint64_t *at)
{
    *at = address & ~((uint64_t)1 << 63);
    return *at != address;
}

#endif

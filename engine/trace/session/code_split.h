/* Distinguishes, in stacks, pieces of code that occupied the same address one after the other.
 *
 * If memory of named code was reused (code_names.h), the stack of a record is replaced by another one. In it, each
 * address with several names is the alias of the entry that named it at the record's time. The new stacks are added to
 * a copy of the stack table, in memory of this process. Later stages need no change: equal stack ids still mean equal
 * functions.
 *
 * Part of reader.h; reading half: allocates. */
#ifndef STROBE_TRACE_SESSION_CODE_SPLIT_H
#define STROBE_TRACE_SESSION_CODE_SPLIT_H

#include "engine/trace/session/reader.h"

/* Replaces the stacks of items, wakes and hitches. Does nothing for a session in which no code was replaced. The new
 * table is reader->own_stacks, which is freed with the reader. STROBE_IO: out of memory. */
enum strobe_status strobe_code_split(struct strobe_reader *reader);

#endif

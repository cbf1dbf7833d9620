/* Makes stacks tell code apart that stood at the same address one after the other.
 *
 * Where the session names code whose memory was used again (code_names.h), a record's stack is replaced by one in which
 * each address with several names is the alias of the entry that named it at the record's time. The stacks are added to
 * a copy of the stack table, in memory of this process. All that comes after the reader works as before: equal stack
 * ids still mean equal functions.
 *
 * Part of reader.h; reading half: allocates. */
#ifndef STROBE_TRACE_SESSION_CODE_SPLIT_H
#define STROBE_TRACE_SESSION_CODE_SPLIT_H

#include "engine/trace/session/reader.h"

/* Replaces the stacks of items, wakes and hitches; does nothing for sessions in which no code was replaced. The new
 * table is reader->own_stacks, freed with the reader. STROBE_IO: out of memory. */
enum strobe_status strobe_code_split(struct strobe_reader *reader);

#endif

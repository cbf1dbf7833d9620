/* Makes every call of a stream end, and every end belong to a call.
 *
 * An end that names its method (or a THROW that is followed by no end of its own) unwinds to the innermost open call
 * of that name; calls above it were left by an exception, and are closed at a time that sources disagree on, so that
 * the caller chooses:
 *
 *   LAST        at the last event of that thread before the end that closes them (RheaTrace's article: the callee was
 *               still there when it last spoke)
 *   ENCLOSING   at the time of the end that closes them (RheaTrace 1.0.1's own script)
 *
 * A THROW that unwinds nothing was caught in its own method, and is forgotten. An END of a name that is not open is
 * dropped and counted. Ends of STROBE_CALL_ANY close the innermost. What is open when the stream ends is closed at the
 * thread's last event. Every end that is made up is flagged STROBE_CALL_REPAIRED. After it, BEGINs and ENDs of each
 * thread nest, all ENDs have names, and there are no THROWs. Calls keep their time order: nothing is sorted.
 *
 * Facts: reference rules of closure, RheaTrace btrace v1.0.1 trace_doctor; recommended contract of its study. */
#ifndef STROBE_TRACE_CALLS_REPAIR_H
#define STROBE_TRACE_CALLS_REPAIR_H

#include "engine/trace/calls.h"

enum strobe_repair { STROBE_REPAIR_LAST, STROBE_REPAIR_ENCLOSING };

struct strobe_repair_stats {
    uint64_t calls;              /* whole ones, repaired included */
    uint64_t closed;             /* ends made up amid the stream */
    uint64_t open_at_end;        /* ends made up at its end */
    uint64_t unmatched;          /* ends dropped */
    uint64_t throws, caught;     /* told; caught in their own method */
};

/* Repairs in place. STROBE_IO: out of memory. `stats` may be NULL. */
enum strobe_status strobe_calls_repair(struct strobe_calls *c, enum strobe_repair policy,
                                       struct strobe_repair_stats *stats);

/* `last` or `enclosing`; STROBE_NO_ENTRY: neither. */
enum strobe_status strobe_repair_of(const char *name, enum strobe_repair *out);

#endif

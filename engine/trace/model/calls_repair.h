/* Makes every call of a stream end, and every end belong to a call.
 *
 * A mark that names its method, END or THROW, unwinds to the innermost open call of that name: calls above it were left
 * by an exception without a word, and are closed at a time that sources disagree on, so that the caller chooses:
 *
 *   LAST        at the last event of that thread before the mark that closes them (RheaTrace's article: the callee was
 *               still there when it last spoke)
 *   ENCLOSING   at the time of the mark that closes them (RheaTrace 1.0.1's own script)
 *
 * A THROW is the end of the call that throws, at the THROW's own time, when no end of its own follows: a caller's END
 * or THROW comes first, or nothing more does. Else the call caught what it threw (or threw again later): the THROW has
 * unwound to it, and is forgotten. Where a method is open more than once, an END belongs to the outer call rather
 * than leave that one without an end: f, f, THROW f, END f is an inner call that threw, and an outer one that ended.
 *
 * An END or THROW of a name that is not open is dropped and counted. Ends of STROBE_CALL_ANY close the innermost. What
 * is open when the stream ends is closed at the thread's last event. Every end that is made up is flagged
 * STROBE_CALL_REPAIRED. After it, BEGINs and ENDs of each thread nest, all ENDs have names, and there are no THROWs.
 * Calls keep their order: nothing is sorted, so equal times nest as they came. Repairing again changes nothing.
 *
 * Facts: rules of closure of RheaTrace btrace v1.0.1 (trace_doctor, and the article it came with), and the contract
 * that its study recommends; what that script does otherwise is in the tests, each a defect. */
#ifndef STROBE_TRACE_MODEL_CALLS_REPAIR_H
#define STROBE_TRACE_MODEL_CALLS_REPAIR_H

#include "engine/trace/model/calls.h"

enum strobe_repair { STROBE_REPAIR_LAST, STROBE_REPAIR_ENCLOSING };

struct strobe_repair_stats {
    uint64_t calls;       /* whole ones, repaired included */
    uint64_t closed;      /* ends made up amid the stream */
    uint64_t open_at_end; /* ends made up at its end */
    uint64_t unmatched;   /* ENDs and THROWs dropped: their method was not open */
    uint64_t throws;      /* told, and of them: */
    uint64_t caught;      /* by the method that threw; the others ended it, or are unmatched */
};

/* Repairs in place; linear in the events. STROBE_IO: out of memory, calls are as they were or repaired, thread by
 * thread. `stats` may be NULL. Any context that may allocate. */
enum strobe_status strobe_calls_repair(struct strobe_calls *c, enum strobe_repair policy,
                                       struct strobe_repair_stats *stats);

/* `last` or `enclosing`; STROBE_NO_ENTRY: neither. Any context. */
enum strobe_status strobe_repair_of(const char *name, enum strobe_repair *out);

#endif

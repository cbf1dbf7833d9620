/* Repairs a stream of calls, so that every call has an end and every end belongs to a call.
 *
 * An END or THROW with a name applies to the innermost open call of that name. Calls above it on the stack were left
 * by an exception without an event. Sources disagree on the time at which such calls ended, so the caller selects it:
 *
 *   LAST        the time of the thread's last event before the END or THROW that closes them (RheaTrace's article: the
 *               callee was still running at its last event)
 *   ENCLOSING   the time of the END or THROW that closes them (RheaTrace 1.0.1's own script)
 *
 * A THROW ends the call that throws, at the THROW's time, when that call has no later END or THROW: an END or THROW of
 * a caller closes it, or the stream ends. Otherwise the call caught the exception, or threw again later. The THROW then
 * only closes the calls above it on the stack, and is removed. If a method is open more than once, an END belongs to
 * the outer call when that call would otherwise have no end: in f, f, THROW f, END f, the inner call threw and the
 * outer call ended.
 *
 * An END or THROW whose name is not open is dropped and counted. An END of STROBE_CALL_ANY closes the innermost call.
 * Calls that are open at the end of the stream end at the thread's last event. Every synthesized end has the flag
 * STROBE_CALL_REPAIRED. After repair, the BEGINs and ENDs of each thread nest, all ENDs have names, and there are no
 * THROWs. Nothing is sorted, so events of equal time keep their order. A second repair changes nothing.
 *
 * Sources: the closing rules of RheaTrace btrace v1.0.1 (trace_doctor, and the article published with it), and the
 * contract that the study of it recommends. The tests list the differences from that script; each is a defect of the
 * script. */
#ifndef STROBE_TRACE_MODEL_CALLS_REPAIR_H
#define STROBE_TRACE_MODEL_CALLS_REPAIR_H

#include "engine/trace/model/calls.h"

enum strobe_repair { STROBE_REPAIR_LAST, STROBE_REPAIR_ENCLOSING };

struct strobe_repair_stats {
    uint64_t calls;       /* complete calls, including repaired ones */
    uint64_t closed;      /* synthesized ends within the stream */
    uint64_t open_at_end; /* synthesized ends at the end of the stream */
    uint64_t unmatched;   /* ENDs and THROWs dropped: their method was not open */
    uint64_t throws;      /* all THROWs of the stream */
    uint64_t caught;      /* THROWs that the throwing method caught; the others ended it, or are unmatched */
};

/* Repairs in place, in time linear in the number of events. STROBE_IO: out of memory; each thread is then either
 * repaired or unchanged. `stats` may be NULL. Any context that may allocate. */
enum strobe_status strobe_calls_repair(struct strobe_calls *c, enum strobe_repair policy,
                                       struct strobe_repair_stats *stats);

/* Parses `last` or `enclosing`. STROBE_NO_ENTRY: any other name. Any context. */
enum strobe_status strobe_repair_of(const char *name, enum strobe_repair *out);

#endif

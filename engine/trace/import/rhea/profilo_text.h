/* profilo's text form of a trace, plain or delta, in and out.
 *
 *   dt                                              head: `dt`, then key|value lines up to an empty one
 *   ver|3
 *   prec|6                                          digits of a second in timestamps
 *   pid|13923
 *
 *   ID|TYPE|TIMESTAMP|TID|CALLID|MATCHID|EXTRA      an entry
 *   ID|TYPE|MATCHID|TEXT                            a text that belongs to the entry MATCHID
 *
 * In the delta form each number of an entry is what is to be added to that of the entry before, wrapping around (32
 * bits but for TIMESTAMP and EXTRA, which have 64); entries of frames are one each, ids counting on; texts are told as
 * they are and change nothing. Texts hold any byte: `|` stays, for they come last; a newline or NUL would end them, so
 * they are written as blanks, and counted. (profilo cuts at a NUL, and lets a newline make a line of its own.)
 *
 * As calls: MARK_PUSH is a BEGIN whose name is its STRING_NAME, or "" without one; MARK_POP an END of the innermost.
 *
 * Source: facebookarchive/profilo 5a66b937, writer's visitors and trace headers, as studied. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_RHEA_PROFILO_TEXT_H
#define STROBE_TRACE_IMPORT_RHEA_PROFILO_TEXT_H

#include "engine/base/error.h"
#include "engine/trace/model/calls.h"
#include "engine/util/outfile.h"

enum { STROBE_PROFILO_TYPE_BYTES = 32, STROBE_PROFILO_LINE_BYTES = 160 };

struct strobe_profilo_entry {
    int32_t id, tid, callid, matchid;
    int64_t timestamp, extra;
    char type[STROBE_PROFILO_TYPE_BYTES];
    const char *text; /* NULL: no text, an entry; else in the input, not ended by NUL */
    size_t text_bytes;
};

/* The numbers that deltas count from: zeroed at first. */
struct strobe_profilo_state {
    bool delta;
    int32_t id, tid, callid, matchid;
    int64_t timestamp, extra;
};

/* An entry's line with its newline, into `to` of STROBE_PROFILO_LINE_BYTES and the text's bytes. Returns its length. */
size_t strobe_profilo_write(struct strobe_profilo_state *s, const struct strobe_profilo_entry *e, char *to,
                            uint64_t *blanked);

/* Reads one line, without its newline. False: it is none, or a number of it does not fit; the state is as it was. */
bool strobe_profilo_parse(struct strobe_profilo_state *s, const char *line, size_t bytes,
                          struct strobe_profilo_entry *out);

struct strobe_profilo_stats {
    uint64_t lines, entries, texts;
    uint64_t others;                 /* entries that are no marks */
    uint64_t unknown, first_unknown; /* lines not understood; number of the first, from 1 */
    bool cut_off;                    /* a last line without its newline was left out */
};

/* Whether a file that begins so is one of these. */
bool strobe_profilo_is(const char *text, size_t bytes);

/* Reads a trace into calls, which were opened. STROBE_BAD_INPUT: no head; STROBE_IO: out of memory. `error` then has a
 * line. */
enum strobe_status strobe_profilo_read(const char *text, size_t bytes, struct strobe_calls *out,
                                       struct strobe_profilo_stats *stats, struct strobe_error *error);

/* Writes repaired calls in the delta form, times in ns, thread after thread. STROBE_BAD_INPUT: a throw is among them,
 * or there are more than ids. What became of the file itself its finish says. */
enum strobe_status strobe_profilo_write_calls(const struct strobe_calls *calls, struct strobe_outfile *out,
                                              uint64_t *blanked);

#endif

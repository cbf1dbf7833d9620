/* Reads and writes profilo's text form of a trace, plain or delta.
 *
 *   dt                                              head: `dt`, then key|value lines up to an empty one
 *   ver|3
 *   prec|6                                          digits of a second in timestamps
 *   pid|13923
 *
 *   ID|TYPE|TIMESTAMP|TID|CALLID|MATCHID|EXTRA      an entry
 *   ID|TYPE|MATCHID|TEXT                            a text that belongs to the entry MATCHID
 *
 * In the delta form, each number of an entry is the difference to the previous entry, modulo 2^64 for TIMESTAMP and
 * EXTRA and modulo 2^32 for the others. Each frame is an entry, with consecutive ids. Texts have no differences and do
 * not change the numbers. Texts may contain any byte: `|` is unchanged, because the text is the last field. A newline
 * or NUL would end the text, so it is written as a blank and counted. (profilo truncates at a NUL, and writes newlines
 * unchanged.)
 *
 * As calls: MARK_PUSH is a BEGIN named by its STRING_NAME, or "" without one; MARK_POP is an END of the innermost call.
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
    const char *text; /* NULL: an entry; else a text in the input, not terminated by NUL */
    size_t text_bytes;
};

/* The numbers that differences refer to; starts zeroed. */
struct strobe_profilo_state {
    bool delta;
    int32_t id, tid, callid, matchid;
    int64_t timestamp, extra;
};

/* Writes an entry's line with its newline to `to`, which has STROBE_PROFILO_LINE_BYTES and space for the text. Returns
 * its length. */
size_t strobe_profilo_write(struct strobe_profilo_state *s, const struct strobe_profilo_entry *e, char *to,
                            uint64_t *blanked);

/* Parses one line without its newline. Returns false if it is malformed or a number is out of range; the state is then
 * unchanged. */
bool strobe_profilo_parse(struct strobe_profilo_state *s, const char *line, size_t bytes,
                          struct strobe_profilo_entry *out);

struct strobe_profilo_stats {
    uint64_t lines, entries, texts;
    uint64_t others;                 /* entries other than MARK_PUSH and MARK_POP */
    uint64_t unknown, first_unknown; /* malformed lines; number of the first, from 1 */
    bool cut_off;                    /* a last line without a newline was left out */
};

/* Returns true if a file with this begin is in profilo's text form. */
bool strobe_profilo_is(const char *text, size_t bytes);

/* Reads a trace into `out`, which is open. STROBE_BAD_INPUT: no head. STROBE_IO: out of memory. `error` then has one
 * line. */
enum strobe_status strobe_profilo_read(const char *text, size_t bytes, struct strobe_calls *out,
                                       struct strobe_profilo_stats *stats, struct strobe_error *error);

/* Writes repaired calls in the delta form, with times in ns, thread by thread. STROBE_BAD_INPUT: there is a THROW, or
 * there are more entries than ids. Errors of the file are returned when it is finished. */
enum strobe_status strobe_profilo_write_calls(const struct strobe_calls *calls, struct strobe_outfile *out,
                                              uint64_t *blanked);

#endif

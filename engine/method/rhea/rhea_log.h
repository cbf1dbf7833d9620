/* RheaTrace's raw log, in profilo's text form, made from a packet ring (atrace.h):
 *
 *   1|TRACE_START|1059724457403076|13923|0|0|0      id, type, BOOTTIME ns, pid, three values that are not used
 *   monotonic_time: 1059612.112233                  CLOCK_MONOTONIC at that time, in seconds
 *   1059724.457411 13923: B|13923|inflate           sec.usec[ tid]: message; a main-only capture has no tid
 *   1059724.457420 13923: B|13923|B:a.B.c           events of methods: `B:`, `E:`, `T:`
 *   1059724.457500 13923: E|13923
 *   2|TRACE_END|1059724459000000|13923|0|0|0
 *   # 3 packets lost, 0 messages dropped, 0 cut, 17 passed by, 0 elsewhere
 *
 * Each message is one line. The log writes a newline or NUL in a message as a blank, and counts it. Seconds have as
 * many digits as they need, and at least one. (RheaTrace 1.0.1 omits seconds that are 0, and prints 32 bits of them.)
 * Strobe adds the last line: the losses, which RheaTrace does not report. A ring whose capture never ended, as after a
 * crash, has no TRACE_END.
 *
 * Any thread, during a capture or after it. Uses no heap and no stdio, so that the end of a capture may call it. */
#ifndef STROBE_METHOD_RHEA_RHEA_LOG_H
#define STROBE_METHOD_RHEA_RHEA_LOG_H

#include "engine/method/rhea/atrace.h"

/* Takes the next bytes of the log. Returns false when it cannot; the writer then stops. */
typedef bool strobe_rhea_put(void *ctx, const char *text, size_t bytes);

struct strobe_rhea_log_stats {
    uint64_t lines;        /* messages written */
    uint64_t packets_lost; /* overwritten, half-written, or of incomplete messages */
    uint64_t strange;      /* entries that no capture writes: damage */
    uint64_t blanked;      /* newlines and NULs in messages */
};

/* Writes the log of a ring. `digits` of a second: 6 as in the original, up to 9. STROBE_BAD_INPUT: no capture has
 * written to the ring. STROBE_IO: `put` returned false. `stats` may be NULL. */
enum strobe_status strobe_rhea_log(const struct strobe_packet_ring *ring, uint32_t digits, strobe_rhea_put *put,
                                   void *ctx, struct strobe_rhea_log_stats *stats);

/* Writes one message's line with its newline to `to` of STROBE_RHEA_LINE_BYTES, and returns its length. With `tid` 0
 * the line has no tid. Any context. */
enum { STROBE_RHEA_LINE_BYTES = STROBE_ATRACE_TEXT_MAX + 96 };
size_t strobe_rhea_line(char *to, uint64_t time_ns, uint32_t digits, uint32_t tid, uint32_t pid,
                        enum strobe_atrace_kind kind, const char *text, size_t bytes, uint64_t *blanked);

#endif

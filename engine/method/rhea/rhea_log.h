/* RheaTrace's raw log, in profilo's text form, made of a packet ring (atrace.h):
 *
 *   1|TRACE_START|1059724457403076|13923|0|0|0      id, type, BOOTTIME ns, pid, and three of no use here
 *   monotonic_time: 1059612.112233                  CLOCK_MONOTONIC at that time, in seconds
 *   1059724.457411 13923: B|13923|inflate           sec.usec[ tid]: message; no tid in a main-only capture
 *   1059724.457420 13923: B|13923|B:a.B.c           marks of methods: `B:`, `E:`, `T:`
 *   1059724.457500 13923: E|13923
 *   2|TRACE_END|1059724459000000|13923|0|0|0
 *   # 3 packets lost, 0 messages dropped, 0 cut, 17 passed by, 0 elsewhere
 *
 * A message is one line: newlines and NULs in it are told as blanks, and counted. Seconds are as many digits as they
 * need, and at least one. (RheaTrace 1.0.1 leaves them out when they are 0, and prints 32 bits of them.) The last line
 * is ours: its losses, which RheaTrace does not tell. A ring whose capture never ended (a crash) gives no TRACE_END.
 *
 * Any thread, after the capture or while it goes on; no heap, no stdio: for the end of a capture. */
#ifndef STROBE_METHOD_RHEA_RHEA_LOG_H
#define STROBE_METHOD_RHEA_RHEA_LOG_H

#include "engine/method/rhea/atrace.h"

/* Takes the next bytes of the log. False: it can't, and no more comes. */
typedef bool strobe_rhea_put(void *ctx, const char *text, size_t bytes);

struct strobe_rhea_log_stats {
    uint64_t lines;        /* messages told */
    uint64_t packets_lost; /* overwritten, half-written, or of messages that are not all there */
    uint64_t strange;      /* entries that are none of ours: damage */
    uint64_t blanked;      /* newlines and NULs in messages */
};

/* Writes the log of a ring. `digits` of a second: 6 as the original, or up to 9. STROBE_BAD_INPUT: no capture has noted
 * anything in it. STROBE_IO: `put` refused. `stats` may be NULL. */
enum strobe_status strobe_rhea_log(const struct strobe_packet_ring *ring, uint32_t digits, strobe_rhea_put *put,
                                   void *ctx, struct strobe_rhea_log_stats *stats);

/* One message's line, with its newline, into `to` of STROBE_RHEA_LINE_BYTES. `tid` 0: none is told. Returns its length.
 * Any context. */
enum { STROBE_RHEA_LINE_BYTES = STROBE_ATRACE_TEXT_MAX + 96 };
size_t strobe_rhea_line(char *to, uint64_t time_ns, uint32_t digits, uint32_t tid, uint32_t pid,
                        enum strobe_atrace_kind kind, const char *text, size_t bytes, uint64_t *blanked);

#endif

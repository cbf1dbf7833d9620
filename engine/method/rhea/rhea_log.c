#include "engine/method/rhea/rhea_log.h"

#include <string.h>

static char *rhea_add_text(char *to, const char *text)
{
    size_t bytes = strlen(text);
    memcpy(to, text, bytes);
    return to + bytes;
}

static char *rhea_add_number(char *to, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    memcpy(to, digits + at, sizeof digits - at);
    return to + (sizeof digits - at);
}

/* Adds seconds with `digits` digits of their fraction, cut off. */
static char *rhea_add_seconds(char *to, uint64_t ns, uint32_t digits)
{
    uint64_t fraction = ns % 1000000000;
    to = rhea_add_number(to, ns / 1000000000);
    *to++ = '.';
    for (uint32_t i = 0, scale = 100000000; i < digits; i++, scale /= 10)
        *to++ = (char)('0' + fraction / scale % 10);
    return to;
}

static char *rhea_add_message(char *to, const char *text, size_t bytes, uint64_t *blanked)
{
    while (bytes && (text[bytes - 1] == '\n' || text[bytes - 1] == 0))
        bytes--; /* some programs end their messages so */
    for (size_t i = 0; i < bytes; i++) {
        bool blank = text[i] == '\n' || text[i] == '\r' || text[i] == 0;
        *blanked += blank;
        *to++ = blank ? ' ' : text[i];
    }
    return to;
}

/* The text before an entry's name, by kind. */
static const char *const prefixes[STROBE_ATRACE_KINDS] = {
    [STROBE_ATRACE_ENTER] = "|B:", [STROBE_ATRACE_LEAVE] = "|E:", [STROBE_ATRACE_THROW] = "|T:",
    [STROBE_ATRACE_BEGIN] = "|",   [STROBE_ATRACE_END] = "",
};

size_t strobe_rhea_line(char *to, uint64_t time_ns, uint32_t digits, uint32_t tid, uint32_t pid,
                        enum strobe_atrace_kind kind, const char *text, size_t bytes, uint64_t *blanked)
{
    char *at = rhea_add_seconds(to, time_ns, digits);
    if (tid) {
        *at++ = ' ';
        at = rhea_add_number(at, tid);
    }
    at = rhea_add_text(at, ": ");
    if (kind != STROBE_ATRACE_TEXT) {
        at = rhea_add_text(at, kind == STROBE_ATRACE_END ? "E|" : "B|");
        at = rhea_add_number(at, pid);
        at = rhea_add_text(at, prefixes[kind]);
    }
    at = rhea_add_message(at, text, bytes, blanked);
    *at++ = '\n';
    return (size_t)(at - to);
}

static char *rhea_add_instant(char *at, const char *what, uint64_t time_ns, uint64_t pid)
{
    at = rhea_add_text(at, what);
    at = rhea_add_number(at, time_ns);
    *at++ = '|';
    at = rhea_add_number(at, pid);
    return rhea_add_text(at, "|0|0|0\n");
}

static bool rhea_put_begin(const struct strobe_packet_ring *ring, uint32_t digits, strobe_rhea_put *put, void *ctx)
{
    char text[160];
    char *at = rhea_add_instant(text, "1|TRACE_START|", strobe_atrace_count(ring, STROBE_ATRACE_HEAD_BOOT_NS),
                                strobe_atrace_count(ring, STROBE_ATRACE_HEAD_PID));
    at = rhea_add_text(at, "monotonic_time: ");
    at = rhea_add_seconds(at, strobe_atrace_count(ring, STROBE_ATRACE_HEAD_MONOTONIC_NS), digits);
    *at++ = '\n';
    return put(ctx, text, (size_t)(at - text));
}

static bool rhea_put_end(const struct strobe_packet_ring *ring, uint64_t lost, strobe_rhea_put *put, void *ctx)
{
    char text[320], *at = text;
    uint64_t end = strobe_atrace_count(ring, STROBE_ATRACE_HEAD_END_BOOT_NS);
    if (end)
        at = rhea_add_instant(at, "2|TRACE_END|", end, strobe_atrace_count(ring, STROBE_ATRACE_HEAD_PID));
    at = rhea_add_number(rhea_add_text(at, "# "), lost);
    at = rhea_add_number(rhea_add_text(at, " packets lost, "), strobe_packet_dropped(ring));
    at = rhea_add_number(rhea_add_text(at, " messages dropped, "), strobe_atrace_count(ring, STROBE_ATRACE_HEAD_CUT));
    at = rhea_add_number(rhea_add_text(at, " cut, "), strobe_atrace_count(ring, STROBE_ATRACE_HEAD_PASSED));
    at = rhea_add_number(rhea_add_text(at, " passed by, "), strobe_atrace_count(ring, STROBE_ATRACE_HEAD_ELSEWHERE));
    at = rhea_add_text(at, " elsewhere\n");
    return put(ctx, text, (size_t)(at - text));
}

enum strobe_status strobe_rhea_log(const struct strobe_packet_ring *ring, uint32_t digits, strobe_rhea_put *put,
                                   void *ctx, struct strobe_rhea_log_stats *stats)
{
    struct strobe_rhea_log_stats s = {0};
    struct strobe_packet_reader r;
    char message[STROBE_PACKET_MESSAGE_MAX], line[STROBE_RHEA_LINE_BYTES];
    size_t bytes;
    uint32_t pid = (uint32_t)strobe_atrace_count(ring, STROBE_ATRACE_HEAD_PID);
    bool main_only = strobe_atrace_count(ring, STROBE_ATRACE_HEAD_MAIN_ONLY);
    digits = digits < 1 ? 6 : digits > 9 ? 9 : digits;
    if (!pid)
        return STROBE_BAD_INPUT;
    bool taken = rhea_put_begin(ring, digits, put, ctx);
    strobe_packet_read_begin(&r, ring);
    while (taken && strobe_packet_read(&r, message, &bytes)) {
        struct strobe_atrace_entry e = {.kind = STROBE_ATRACE_KINDS};
        if (bytes >= sizeof e)
            memcpy(&e, message, sizeof e);
        if (e.kind >= STROBE_ATRACE_KINDS) {
            s.strange++;
            continue;
        }
        size_t length =
            strobe_rhea_line(line, e.time_ns, digits, main_only ? 0 : e.tid, pid, (enum strobe_atrace_kind)e.kind,
                             message + sizeof e, bytes - sizeof e, &s.blanked);
        taken = put(ctx, line, length);
        s.lines += taken;
    }
    s.packets_lost = r.before + r.parts + r.early + r.busy + r.lapped;
    taken = taken && rhea_put_end(ring, s.packets_lost, put, ctx);
    if (stats)
        *stats = s;
    return taken ? STROBE_OK : STROBE_IO;
}

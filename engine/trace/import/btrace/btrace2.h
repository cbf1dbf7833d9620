/* Format of btrace 2.0's method logs (legacy/v2.0): a header, and a record for each call that has ended. Little-endian.
 *
 *   header  u32 version (5), u32 pid, u64 BOOTTIME ns and u64 MONOTONIC ns of one moment ("first"), u64 MONOTONIC ns at
 *           which the trace begins; earlier calls belong to an earlier trace
 *   record  u64 start (45 bits, ns since first) << 19 | duration >> 26
 *           u64 duration (lower 26 of its 45 bits, ns) << 38 | tid (15 bits) << 23 | method (23 bits)
 *
 * Records are in the order in which calls ended, so a callee precedes its caller. A record whose second word is 0 was
 * never written. A buffer of `bytes` takes records while offset + 16 < bytes: its last place stays empty, and later
 * records are dropped.
 *
 * The original masks neither tid nor method: a tid above 32767 overflows into the duration, a method above 2^23 - 1
 * into the tid (strobe_btrace2_upstream; tests). strobe_btrace2_pack refuses such a record. Any context. */
#ifndef STROBE_TRACE_IMPORT_BTRACE_BTRACE2_H
#define STROBE_TRACE_IMPORT_BTRACE_BTRACE2_H

#include <stdbool.h>
#include <stdint.h>

enum {
    STROBE_BTRACE2_VERSION = 5,
    STROBE_BTRACE2_HEADER_BYTES = 32,
    STROBE_BTRACE2_RECORD_BYTES = 16,
    STROBE_BTRACE2_TIME_BITS = 45,
    STROBE_BTRACE2_LOW_BITS = 26, /* of a duration, in the second word */
    STROBE_BTRACE2_TID_MAX = (1 << 15) - 1,
    STROBE_BTRACE2_METHOD_MAX = (1 << 23) - 1,
};
#define STROBE_BTRACE2_TIME_MAX ((UINT64_C(1) << STROBE_BTRACE2_TIME_BITS) - 1)

struct strobe_btrace2_header {
    uint32_t version, pid;
    uint64_t boottime_ns, first_ns, begin_ns;
};

struct strobe_btrace2_record {
    uint64_t start_ns, duration_ns; /* start_ns: since first */
    uint32_t tid, method;
};

/* Packs a record as the original does, including its overflows. */
static inline void strobe_btrace2_upstream(const struct strobe_btrace2_record *r, uint64_t word[2])
{
    word[0] = r->start_ns << 19 | r->duration_ns >> STROBE_BTRACE2_LOW_BITS;
    word[1] =
        (r->duration_ns & ((UINT64_C(1) << STROBE_BTRACE2_LOW_BITS) - 1)) << 38 | (uint64_t)r->tid << 23 | r->method;
}

/* Packs a record. Returns false if a value is out of range, or if the result would equal a record that was never
 * written. */
static inline bool strobe_btrace2_pack(const struct strobe_btrace2_record *r, uint64_t word[2])
{
    if (r->tid > STROBE_BTRACE2_TID_MAX || r->method > STROBE_BTRACE2_METHOD_MAX ||
        r->start_ns > STROBE_BTRACE2_TIME_MAX >> 1 || r->duration_ns > STROBE_BTRACE2_TIME_MAX)
        return false;
    strobe_btrace2_upstream(r, word);
    return word[1] != 0;
}

/* Unpacks a record. The start of a call that began before first is negative and wraps; see strobe_btrace2_start. */
static inline void strobe_btrace2_unpack(const uint64_t word[2], struct strobe_btrace2_record *r)
{
    r->start_ns = word[0] >> 19;
    r->duration_ns = (word[0] & ((1 << 19) - 1)) << STROBE_BTRACE2_LOW_BITS | word[1] >> 38;
    r->tid = word[1] >> 23 & STROBE_BTRACE2_TID_MAX;
    r->method = word[1] & STROBE_BTRACE2_METHOD_MAX;
}

/* Returns the start as a signed number. Half of the 45 bits are 4.9 hours, and no trace is that long. */
static inline int64_t strobe_btrace2_start(const struct strobe_btrace2_record *r)
{
    return r->start_ns > STROBE_BTRACE2_TIME_MAX >> 1 ? (int64_t)r->start_ns - (int64_t)STROBE_BTRACE2_TIME_MAX - 1
                                                      : (int64_t)r->start_ns;
}

#endif

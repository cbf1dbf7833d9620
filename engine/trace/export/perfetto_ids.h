/* Ids of a Perfetto trace: of tracks, sequences and flows. They are derived from the process, so the ids of two traces
 * differ. The files of two traces can therefore be concatenated, the earlier one first. One session always gives the
 * same ids. */
#ifndef STROBE_TRACE_EXPORT_PERFETTO_IDS_H
#define STROBE_TRACE_EXPORT_PERFETTO_IDS_H

#include "engine/base/mix.h"
#include "engine/store/session.h"

#include <stdint.h>

/* Returns a key of the process, derived from its pid, and from its begin on the clock since boot and as a date, which
 * distinguishes boots and machines. Two simulated processes differ only in the seed. */
static inline uint64_t strobe_perfetto_key(const struct strobe_session_header *h)
{
    uint64_t when = strobe_mix_pair(h->begin.boottime_ns, h->begin.realtime_ns);
    return strobe_mix_pair(strobe_mix_pair(when, h->pid), h->config.seed);
}

/* Returns the id of the `n`th track of the process, counted from 1; never 0. The high bit is clear, because readers
 * treat ids as signed. */
static inline uint64_t strobe_perfetto_track(uint64_t key, uint64_t n)
{
    uint64_t id = strobe_mix_pair(key, n) & INT64_MAX;
    return id ? id : 1;
}

/* Returns the id of the `n`th flow; otherwise as strobe_perfetto_track. */
static inline uint64_t strobe_perfetto_flow(uint64_t key, uint64_t n)
{
    return strobe_perfetto_track(~key, n);
}

/* Sequence ids of one file are consecutive from strobe_perfetto_first_sequence on. Each packet contains its sequence's
 * id, which takes three bytes; the least value is the smallest that takes three. */
enum { STROBE_PERFETTO_SEQUENCE_BITS = 20, STROBE_PERFETTO_SEQUENCE_LEAST = 1 << 20 };

static inline uint32_t strobe_perfetto_first_sequence(uint64_t key)
{
    return STROBE_PERFETTO_SEQUENCE_LEAST + (uint32_t)(strobe_mix64(key) >> (64 - STROBE_PERFETTO_SEQUENCE_BITS));
}

#endif

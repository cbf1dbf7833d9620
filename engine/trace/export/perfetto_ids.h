/* Ids of a Perfetto trace: of tracks, sequences and flows. They follow from the process, so those of two traces differ,
 * and the files can be joined end to end, the earlier first; and one session always gives the same. */
#ifndef STROBE_TRACE_EXPORT_PERFETTO_IDS_H
#define STROBE_TRACE_EXPORT_PERFETTO_IDS_H

#include "engine/base/mix.h"
#include "engine/store/session.h"

#include <stdint.h>

/* The process: its id, and when it began on the clock since boot and by date, which tells boots and machines apart. Two
 * simulated processes are told apart by the seed alone. */
static inline uint64_t strobe_perfetto_key(const struct strobe_session_header *h)
{
    uint64_t when = strobe_mix_pair(h->begin.boottime_ns, h->begin.realtime_ns);
    return strobe_mix_pair(strobe_mix_pair(when, h->pid), h->config.seed);
}

/* The id of the `n`th track of the process, from 1; never 0. Its high bit is clear: readers take ids for signed. */
static inline uint64_t strobe_perfetto_track(uint64_t key, uint64_t n)
{
    uint64_t id = strobe_mix_pair(key, n) & INT64_MAX;
    return id ? id : 1;
}

/* The same for a flow. */
static inline uint64_t strobe_perfetto_flow(uint64_t key, uint64_t n)
{
    return strobe_perfetto_track(~key, n);
}

/* Sequences of one file follow one another from here on. Each packet has its sequence's id: three bytes of it, and the
 * least of those that take three. */
enum { STROBE_PERFETTO_SEQUENCE_BITS = 20, STROBE_PERFETTO_SEQUENCE_LEAST = 1 << 20 };

static inline uint32_t strobe_perfetto_first_sequence(uint64_t key)
{
    return STROBE_PERFETTO_SEQUENCE_LEAST + (uint32_t)(strobe_mix64(key) >> (64 - STROBE_PERFETTO_SEQUENCE_BITS));
}

#endif

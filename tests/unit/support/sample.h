/* Self-checking records: each field follows from the sample's number, count, stack and the presence of metrics, so that
 * a torn copy of two records is detected. Tests only. */
#ifndef STROBE_UNIT_SUPPORT_SAMPLE_H
#define STROBE_UNIT_SUPPORT_SAMPLE_H

#include "engine/store/ring.h"

/* Fills in sample `number` (the record's ticks). */
void strobe_sample_make(uint64_t number, uint32_t count, uint32_t stack, bool with_metrics,
                        struct strobe_ring_item *out);

/* Writes it, or rewrites the last one with it. */
enum strobe_status strobe_sample_write(const struct strobe_ring *ring, struct strobe_ring_writer *w, uint64_t number,
                                       uint32_t count, uint32_t stack, bool with_metrics);
enum strobe_status strobe_sample_rewrite(const struct strobe_ring *ring, struct strobe_ring_writer *w, uint64_t number,
                                         uint32_t count, uint32_t stack, bool with_metrics);

/* True when all fields are those of one sample. */
bool strobe_sample_is_whole(const struct strobe_ring_item *item);

/* The result of reading all slots. */
struct strobe_sample_census {
    uint32_t records, busy, torn;
    uint64_t samples; /* sum of the counts */
};
struct strobe_sample_census strobe_sample_census(const struct strobe_ring *ring);

/* Makes a ring in new memory that is shared with child processes, and frees it. */
struct strobe_ring strobe_sample_ring(uint32_t slots, uint32_t subs, enum strobe_ring_mode mode);
void strobe_sample_ring_free(struct strobe_ring *ring);

#endif

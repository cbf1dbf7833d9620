#include "engine/store/stops.h"

/* From 8 ticks on, each doubling has eight buckets. `e` is the index of the highest set bit. */
static uint32_t stop_bucket_of(uint64_t ticks)
{
    if (ticks < 8)
        return (uint32_t)ticks;
    uint32_t e = 63u - (uint32_t)__builtin_clzll(ticks);
    uint32_t bucket = (e - 2) * 8 + (uint32_t)(ticks >> (e - 3) & 7);
    return bucket < STROBE_STOPS_BUCKETS ? bucket : STROBE_STOPS_BUCKETS - 1;
}

static uint64_t middle_of(uint32_t bucket)
{
    if (bucket < 8)
        return bucket;
    uint32_t shift = bucket / 8 - 1;
    uint64_t width = (uint64_t)1 << shift;
    return (8 + bucket % 8) * width + width / 2;
}

void strobe_stops_add(struct strobe_stops *s, uint64_t ticks)
{
    strobe_bump(&s->count[stop_bucket_of(ticks)], 1);
    if (ticks > strobe_load_relaxed(&s->longest_ticks))
        strobe_store_relaxed(&s->longest_ticks, ticks);
}

/* Returns the length that `rank` stops do not exceed, accurate to the width of a bucket. */
static uint64_t at_rank(const struct strobe_stops *s, uint64_t rank, uint64_t longest)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < STROBE_STOPS_BUCKETS - 1; i++) {
        sum += strobe_load_relaxed(&s->count[i]);
        if (sum >= rank)
            return middle_of(i) < longest ? middle_of(i) : longest;
    }
    return longest; /* the last bucket has no upper edge */
}

struct strobe_stop_times strobe_stops_read(const struct strobe_stops *s)
{
    struct strobe_stop_times t = {.longest = strobe_load_relaxed(&s->longest_ticks)};
    for (uint32_t i = 0; i < STROBE_STOPS_BUCKETS; i++)
        t.count += strobe_load_relaxed(&s->count[i]);
    if (!t.count)
        return (struct strobe_stop_times){0};
    t.median = at_rank(s, t.count - t.count / 2, t.longest);
    t.percentile_99 = at_rank(s, t.count - t.count / 100, t.longest);
    return t;
}

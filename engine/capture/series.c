#include "engine/capture/series.h"

bool strobe_series_due(const struct strobe_sampler *s, uint64_t *due_ticks, uint64_t now)
{
    if (now < *due_ticks)
        return false;
    *due_ticks = now + strobe_ticks_of_ns(s->engine->host, STROBE_SERIES_INTERVAL_NS);
    return true;
}

static bool write_series_record(struct strobe_sampler *s, struct strobe_record *r)
{
    struct strobe_session *session = &s->engine->session;
    if (r->thread >= strobe_session_thread_count(session))
        return false;
    struct strobe_account *a = &session->threads[r->thread].account[r->kind];
    r->count = 1;
    s->pending.open = 0; /* the sampler's record written last is no longer the ring's last */
    strobe_bump(&a->requests, 1);
    bool kept = strobe_ring_write(&session->ring, &s->writer, r, NULL) == STROBE_OK;
    strobe_store_relaxed(&session->header->async_overwrote_samples, s->writer.overwrote);
    strobe_bump(kept ? &a->sampled : &a->dropped, 1);
    return kept;
}

bool strobe_series_counter(struct strobe_sampler *s, uint32_t thread, enum strobe_series what, uint64_t ticks,
                           uint64_t value)
{
    struct strobe_record r = {
        .ticks = ticks, .arg = value, .thread = thread, .cpu_span_ns = (uint32_t)what, .kind = STROBE_KIND_COUNTER};
    return write_series_record(s, &r);
}

bool strobe_series_hitch(struct strobe_sampler *s, uint32_t thread, uint64_t begin, uint64_t end, uint32_t stack)
{
    const struct strobe_host *h = s->engine->host;
    if (end < begin || end - begin < strobe_ticks_of_ns(h, STROBE_HITCH_LEAST_NS))
        return false;
    bool hang = end - begin >= strobe_ticks_of_ns(h, STROBE_HANG_LEAST_NS);
    struct strobe_record r = {.ticks = begin,
                              .duration = end - begin,
                              .stack = stack,
                              .thread = thread,
                              .arg = hang ? STROBE_HITCH_HANG : STROBE_HITCH_FRAME,
                              .kind = STROBE_KIND_HITCH};
    return write_series_record(s, &r);
}

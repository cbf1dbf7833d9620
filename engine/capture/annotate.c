#include "engine/capture/annotate.h"

static bool intern_name(struct strobe_thread *t, const char *name, uint32_t *id)
{
    uint64_t words[STROBE_ANNOTATION_WORDS];
    uint32_t count = strobe_annotation_pack(name, words);
    return strobe_stack_intern(&t->engine->session.stacks, &strobe_thread_buffers(t)->tick_cursor, words, count, id) ==
           STROBE_OK;
}

static bool write_annotation(struct strobe_thread *t, enum strobe_annotation what, const char *name, int64_t value)
{
    struct strobe_record r = {.ticks = t->ticks(t->ticks_ctx),
                              .arg = (uint64_t)value,
                              .thread = t->index,
                              .message = strobe_load_relaxed(&t->entry->message),
                              .count = 1,
                              .cpu_span_ns = (uint32_t)what,
                              .kind = STROBE_KIND_ANNOTATION};
    if (what != STROBE_ANNOTATION_END && !intern_name(t, name, &r.stack))
        return false;
    t->pending.open = 0; /* the thread's record written last is no longer the ring's last */
    bool kept = strobe_ring_write(&t->engine->session.ring, &t->writer, &r, NULL) == STROBE_OK;
    strobe_store_relaxed(&t->entry->overwrote_samples, t->writer.overwrote);
    return kept;
}

void strobe_annotate(struct strobe_thread *t, enum strobe_annotation what, const char *name, int64_t value)
{
    if (!strobe_thread_enter(t, STROBE_KIND_ANNOTATION))
        return;
    struct strobe_account *a = strobe_account_of(t, STROBE_KIND_ANNOTATION);
    strobe_bump(&a->requests, 1);
    strobe_fence_seq_cst(); /* with strobe_engine_quiet: this thread sees the new switch, or is seen inside */
    bool records = strobe_switched() == STROBE_ON;
    bool kept = records && write_annotation(t, what, name, value);
    strobe_bump(kept ? &a->sampled : records ? &a->dropped : &a->paused, 1);
    strobe_thread_leave(t);
}

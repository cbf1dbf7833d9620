#include "engine/capture/annotate.h"

#include "engine/base/hint.h"

#include <string.h>

/* ---- names ---- */

static STROBE_NOINLINE uint32_t intern_name(struct strobe_thread *t, const char *name, struct strobe_known_name *known)
{
    uint64_t words[STROBE_ANNOTATION_WORDS];
    uint32_t count = strobe_annotation_pack(name, words), id;
    struct strobe_stack_cursor *cursor = &strobe_thread_buffers(t)->tick_cursor;
    if (strobe_stack_intern(&t->engine->session.stacks, cursor, words, count, &id) != STROBE_OK)
        return 0;
    size_t bytes = strnlen(name, sizeof known->text) + 1;
    if (bytes <= sizeof known->text) {
        memcpy(known->text, name, bytes);
        known->stack = id;
    }
    return id;
}

/* Returns the id of a name, or 0 when the stack table is full. A program passes most names from the same place each
 * time. Where they are and their first bytes select what the name is compared with. */
static inline uint32_t find_name(struct strobe_thread *t, const char *name)
{
    uint32_t hash = (uint32_t)(uintptr_t)name ^ (uint32_t)((uintptr_t)name >> 5) ^ (unsigned char)name[0];
    struct strobe_known_name *known = &strobe_thread_buffers(t)->names[hash % STROBE_KNOWN_NAMES];
    if (known->stack && strcmp(known->text, name) == 0)
        return known->stack;
    return intern_name(t, name, known);
}

/* ---- records ---- */

/* `arg`: the value of a counter, the depth of a section. */
static STROBE_ALWAYS_INLINE bool write_annotation(struct strobe_thread *t, enum strobe_annotation what,
                                                  const struct strobe_section *at, uint64_t duration, uint64_t arg)
{
    const struct strobe_record r = {.ticks = at->begin_ticks,
                                    .duration = duration,
                                    .arg = arg,
                                    .stack = at->stack,
                                    .thread = t->index,
                                    .message = strobe_load_relaxed(&t->entry->message),
                                    .count = 1,
                                    .cpu_span_ns = (uint32_t)what,
                                    .kind = STROBE_KIND_ANNOTATION};
    t->pending.open = 0; /* the thread's record written last is no longer the ring's last */
    struct strobe_slot *slot = strobe_ring_open_slot(&t->engine->session.ring, &t->writer);
    if (strobe_unlikely(!slot))
        return false;
    strobe_slot_put(slot, &r, 0);
    strobe_ring_commit_slot(&t->writer, slot);
    strobe_store_relaxed(&t->entry->overwrote_samples, t->writer.overwrote);
    return true;
}

static inline bool write_named(struct strobe_thread *t, enum strobe_annotation what, const char *name, uint64_t arg,
                               struct strobe_section *section)
{
    section->begin_ticks = t->ticks(t->ticks_ctx);
    section->stack = find_name(t, name);
    return section->stack && write_annotation(t, what, section, 0, arg);
}

/* ---- requests ---- */

/* Enters the engine. False: the thread is inside already. */
static inline bool begin_request(struct strobe_thread *t, bool *records)
{
    if (!strobe_thread_enter(t, STROBE_KIND_ANNOTATION))
        return false;
    strobe_bump(&strobe_account_of(t, STROBE_KIND_ANNOTATION)->requests, 1);
    strobe_fence_seq_cst(); /* with strobe_engine_quiet: this thread sees the new switch, or is seen inside */
    *records = strobe_switched() == STROBE_ON;
    return true;
}

static inline void end_request(struct strobe_thread *t, bool records, bool kept)
{
    struct strobe_account *a = strobe_account_of(t, STROBE_KIND_ANNOTATION);
    if (strobe_unlikely(!kept))
        strobe_bump(records ? &a->dropped : &a->paused, 1);
    else
        strobe_bump(&a->sampled, 1);
    strobe_thread_leave(t);
}

static STROBE_ALWAYS_INLINE void record_counter_value(struct strobe_thread *t, enum strobe_annotation what,
                                                      const char *name, int64_t value)
{
    struct strobe_section at;
    bool records;
    if (!begin_request(t, &records))
        return;
    end_request(t, records, records && write_named(t, what, name, (uint64_t)value, &at));
}

void strobe_counter_report(struct strobe_thread *t, const char *name, int64_t value)
{
    record_counter_value(t, STROBE_ANNOTATION_COUNTER, name, value);
}

void strobe_thread_counter_report(struct strobe_thread *t, const char *name, int64_t value)
{
    record_counter_value(t, STROBE_ANNOTATION_THREAD_COUNTER, name, value);
}

/* ---- sections ---- */

void strobe_section_begin(struct strobe_thread *t, const char *name)
{
    struct strobe_section beyond, *section = &beyond;
    bool records;
    if (!begin_request(t, &records))
        return;
    uint32_t depth = t->section_depth++;
    if (depth < STROBE_SECTIONS_MAX)
        section = &t->section[depth];
    bool kept = records && write_named(t, STROBE_ANNOTATION_BEGIN, name, depth + 1, section);
    section->place = kept ? strobe_ring_last_place(&t->writer) : (struct strobe_ring_place){0};
    end_request(t, records, kept);
}

/* Writes the end of a section as a record of its own, with all that is known of the begin. */
static STROBE_NOINLINE bool write_end(struct strobe_thread *t, const struct strobe_section *section, uint64_t now,
                                      uint64_t duration, uint64_t depth)
{
    struct strobe_section unknown = {.begin_ticks = now};
    bool known = section && section->place.slot;
    return write_annotation(t, STROBE_ANNOTATION_END, known ? section : &unknown, known ? duration : 0, depth);
}

void strobe_section_end(struct strobe_thread *t)
{
    const struct strobe_section *section = NULL;
    uint64_t duration = 0;
    bool records, kept = false;
    if (!begin_request(t, &records))
        return;
    uint32_t depth = t->section_depth;
    if (depth && (t->section_depth = depth - 1) < STROBE_SECTIONS_MAX)
        section = &t->section[depth - 1];
    if (records) {
        uint64_t now = t->ticks(t->ticks_ctx);
        if (section && section->place.slot)
            duration = now > section->begin_ticks ? now - section->begin_ticks : 1;
        kept = (duration && strobe_ring_extend(&t->engine->session.ring, &t->writer, section->place, duration)) ||
               write_end(t, section, now, duration, depth);
    }
    end_request(t, records, kept);
}

#include "engine/trace/merge/merge_sessions.h"

#include "engine/base/error_format.h"
#include "engine/trace/export/perfetto_ids.h"
#include "engine/trace/session/reader.h"
#include "engine/util/array.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SECTIONS_MAX = 1 << 16, WAITS_MAX = 1 << 14 }; /* enough to align by, and to estimate by */
static const uint64_t WAIT_NS_LEAST = 1000000;        /* shorter calls often end without a switch */

int strobe_merge_is_session(const char *at, size_t bytes)
{
    return bytes >= sizeof STROBE_SESSION_MAGIC - 1 &&
           !memcmp(at, STROBE_SESSION_MAGIC, sizeof STROBE_SESSION_MAGIC - 1);
}

static bool add_section_to_reference(struct strobe_merge_reference *k, const struct strobe_reader *r,
                                     const struct strobe_reader_annotation *a)
{
    char name[STROBE_ANNOTATION_NAME_BYTES + 1];
    if (a->what != STROBE_ANNOTATION_BEGIN || k->section_count == SECTIONS_MAX || a->thread >= r->thread_count ||
        !strobe_reader_annotation_name(r, a, name))
        return true;
    uint32_t number = strobe_text_number(&k->names, name, strlen(name));
    if (number == UINT32_MAX || !strobe_array_reserve(&k->sections, &k->section_room, k->section_count + 1))
        return false;
    k->sections[k->section_count++] =
        (struct strobe_merge_section){r->threads[a->thread].tid, number, strobe_reader_ns(r, a->ticks)};
    return true;
}

/* A wait of which the session knows that the thread did wait. */
static bool is_long_wait(const struct strobe_reader *r, const struct strobe_record *record)
{
    return record->flags & STROBE_FLAG_SCOPE && !(record->flags & STROBE_FLAG_NO_WAIT) &&
           record->kind != STROBE_KIND_ASYNC && strobe_reader_span_ns(r, record->duration) >= WAIT_NS_LEAST;
}

static bool add_waits(struct strobe_merge_reference *k, const struct strobe_reader *r,
                      const struct strobe_reader_thread *t)
{
    for (size_t i = 0; i < t->item_count && k->wait_count < WAITS_MAX; i++) {
        const struct strobe_record *record = &t->items[i].record;
        if (!is_long_wait(r, record))
            continue;
        if (!strobe_array_reserve(&k->waits, &k->wait_room, k->wait_count + 1))
            return false;
        k->waits[k->wait_count++] =
            (struct strobe_merge_wait){t->tid, strobe_reader_ns(r, record->ticks + record->duration)};
    }
    return true;
}

enum strobe_status strobe_merge_session_scan(struct strobe_merge_session *s, struct strobe_merge_reference *reference,
                                             struct strobe_sched_states *states, struct strobe_sched_states *own,
                                             struct strobe_error *error)
{
    struct strobe_reader *r;
    struct strobe_error what = {""};
    enum strobe_status status = strobe_reader_open(s->path, &r, &what);
    if (status != STROBE_OK) {
        strobe_error_set(error, "%s: %s", s->path, what.text);
        return status;
    }
    const struct strobe_session_header *h = r->session.header;
    bool enough = true;
    s->key = strobe_perfetto_key(h);
    s->begin_ns = h->begin.boottime_ns;
    s->end_ns = strobe_reader_ns(r, r->last_ticks);
    s->pid = h->pid;
    s->threads = r->thread_count;
    strobe_merge_reference_add_clocks(reference, h->begin.boottime_ns, h->begin.monotonic_ns, h->begin.realtime_ns);
    strobe_merge_reference_add_time(reference, s->begin_ns);
    strobe_merge_reference_add_time(reference, s->end_ns);
    for (size_t i = 0; enough && i < r->annotation_count; i++)
        enough = add_section_to_reference(reference, r, &r->annotations[i]);
    for (uint32_t i = 0; enough && i < r->thread_count; i++) {
        if (r->threads[i].tid) {
            strobe_sched_states_watch(states, r->threads[i].tid);
            strobe_sched_states_watch(own, r->threads[i].tid);
        }
        enough = add_waits(reference, r, &r->threads[i]);
    }
    s->has_sched = r->sched.count > 0;
    strobe_sched_section_add_states(&r->sched, s->end_ns, own);
    reference->section_names = reference->names.count;
    strobe_reader_close(r);
    if (enough && !states->failed && !own->failed)
        return STROBE_OK;
    strobe_error_set(error, "%s: %s", s->path, strerror(ENOMEM));
    return STROBE_IO;
}

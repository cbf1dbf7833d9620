#include "engine/trace/session/reader.h"
#include "engine/base/error_format.h"

#include "engine/trace/session/code_split.h"
#include "engine/trace/session/reader_calls.h"
#include "engine/trace/session/reader_wait_calls.h"
#include "engine/util/array.h"
#include "engine/util/large_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The number of writes that can be in progress in one thread when it is stopped for good: its own, and one of a signal
 * handler that interrupted it. */
enum { WRITES_IN_PROGRESS_MAX = 2 };

static void set_error(struct strobe_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    strobe_error_clear(error);
    strobe_error_add_list(error, format, args);
    va_end(args);
}

static bool is_empty_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0;
}

/* A header that is cut itself states no size: its own size is then what is missing. */
static void say_truncated(struct strobe_error *error, const char *path)
{
    struct strobe_session_header h = {0};
    struct stat st = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 && fstat(fd, &st) == 0 ? pread(fd, &h, sizeof h, 0) : -1;
    if (fd >= 0)
        close(fd);
    if (got >= (ssize_t)sizeof h)
        set_error(error, "end of file: the file has %llu bytes, its header states %llu", (unsigned long long)st.st_size,
                  (unsigned long long)h.file_bytes);
    else
        set_error(error, "end of file: the file has %llu bytes, a header has %zu", (unsigned long long)st.st_size,
                  sizeof h);
}

void strobe_reader_say_status(const char *path, enum strobe_status status, struct strobe_error *error)
{
    switch (status) {
    case STROBE_BAD_INPUT:
        set_error(error, is_empty_file(path) ? "byte 0: an empty file, expected a session"
                                             : "header: expected a Strobe session whose parts fit together");
        break;
    case STROBE_BAD_VERSION:
        set_error(error, "header: expected a session of format version %d", STROBE_SESSION_VERSION);
        break;
    case STROBE_TRUNCATED: say_truncated(error, path); break;
    case STROBE_IO: set_error(error, "%s", strerror(errno)); break;
    default: set_error(error, "%s", strobe_status_text(status));
    }
}

/* ---- clock */

/* Sets scale and shift so that ns = ticks * scale >> shift, with as many bits as fit. */
static void set_clock(struct strobe_reader *r)
{
    const struct strobe_session_header *h = r->session.header;
    double ns_per_tick = 1e9 / (double)h->ticks_per_second;
    uint64_t ticks = h->end.ticks - h->begin.ticks, ns = h->end.monotonic_ns - h->begin.monotonic_ns;
    if (r->closed && h->end.ticks > h->begin.ticks && h->end.monotonic_ns > h->begin.monotonic_ns && ns > 100000000) {
        double seen = (double)ns / (double)ticks;
        if (seen > ns_per_tick * 0.99 && seen < ns_per_tick * 1.01 && h->ticks_per_second != 1000000000)
            ns_per_tick = seen;
    }
    if (h->ticks_per_second == 1000000000)
        return;
    unsigned shift = 0;
    while (shift < 63 && ns_per_tick < 0x1p52) {
        ns_per_tick *= 2;
        shift++;
    }
    r->tick_scale = (uint64_t)(ns_per_tick + 0.5);
    r->tick_shift = shift;
}

/* Returns a * b >> shift. Computes with halves of the operands, so that no compiler extension is needed. */
static uint64_t multiply_shift(uint64_t a, uint64_t b, unsigned shift)
{
    uint64_t a0 = a & UINT32_MAX, a1 = a >> 32, b0 = b & UINT32_MAX, b1 = b >> 32;
    uint64_t low = a0 * b0, mid = a1 * b0 + (low >> 32), mid2 = a0 * b1 + (mid & UINT32_MAX);
    uint64_t high = a1 * b1 + (mid >> 32) + (mid2 >> 32);
    low = mid2 << 32 | (low & UINT32_MAX);
    return shift ? high << (64 - shift) | low >> shift : low;
}

uint64_t strobe_reader_span_ns(const struct strobe_reader *r, uint64_t ticks)
{
    return r->tick_scale ? multiply_shift(ticks, r->tick_scale, r->tick_shift) : ticks;
}

uint64_t strobe_reader_ns(const struct strobe_reader *r, uint64_t ticks)
{
    const struct strobe_clock_pair *begin = &r->session.header->begin;
    return begin->boottime_ns + (ticks > begin->ticks ? strobe_reader_span_ns(r, ticks - begin->ticks) : 0);
}

/* ---- records */

/* Returns 1 if a writer can have written the record. A record with more samples than its thread ever took is damaged:
 * every sample of a record is shown, and a flipped bit in its count must not create millions of samples. */
static int is_plausible(const struct strobe_reader *r, const struct strobe_record *record)
{
    if (record->thread >= r->thread_count || record->kind <= STROBE_KIND_NONE || record->kind >= STROBE_KIND_COUNT)
        return 0;
    const struct strobe_tally *t = &r->threads[record->thread].kind[record->kind];
    return record->count >= 1 && t->present + record->count <= t->sampled + WRITES_IN_PROGRESS_MAX &&
           record->ticks + record->duration >= record->ticks && record->ticks + record->duration < UINT64_MAX / 2;
}

/* Capacities of the lists that are being filled. */
struct capacities {
    size_t items, metrics, wakes, counters, wait_calls, hitches, annotations;
};

static int collect_wake(struct strobe_reader *r, const struct strobe_record *record, size_t *room)
{
    uint32_t waker = record->cpu_span_ns ? record->cpu_span_ns - 1 : STROBE_NO_THREAD;
    if (waker != STROBE_NO_THREAD && waker >= r->thread_count) {
        r->malformed++;
        return 1;
    }
    if (!strobe_array_reserve(&r->wakes, room, r->wake_count + 1))
        return 0;
    r->wakes[r->wake_count++] = (struct strobe_reader_wake){
        record->thread, waker, record->stack, record->ticks, record->ticks + record->duration, record->arg};
    return 1;
}

static void keep_final_cpu(struct strobe_reader_thread *t, const struct strobe_record *record)
{
    if (record->ticks < t->final_ticks)
        return;
    t->final_ticks = record->ticks;
    t->final_cpu_ns = record->arg;
}

static int collect_counter(struct strobe_reader *r, const struct strobe_record *record, struct capacities *room)
{
    if (record->cpu_span_ns == STROBE_SERIES_WAIT_CALL && !record->duration)
        return strobe_reader_add_wait_call(r, record, &room->wait_calls);
    if (record->cpu_span_ns == STROBE_SERIES_END_CPU_NS && !record->duration) {
        keep_final_cpu(&r->threads[record->thread], record);
        return 1;
    }
    if (record->cpu_span_ns >= STROBE_SERIES_COUNT || record->duration) {
        r->malformed++;
        return 1;
    }
    if (!strobe_array_reserve(&r->counters, &room->counters, r->counter_count + 1))
        return 0;
    r->counters[r->counter_count++] = (struct strobe_reader_counter){record->ticks, record->arg, record->thread,
                                                                     (enum strobe_series)record->cpu_span_ns};
    return 1;
}

static int collect_hitch(struct strobe_reader *r, const struct strobe_record *record, size_t *room)
{
    if (record->arg >= STROBE_HITCH_COUNT || !record->duration) {
        r->malformed++;
        return 1;
    }
    if (!strobe_array_reserve(&r->hitches, room, r->hitch_count + 1))
        return 0;
    r->hitches[r->hitch_count++] = (struct strobe_reader_hitch){
        record->ticks, record->ticks + record->duration, record->thread, record->stack, (enum strobe_hitch)record->arg};
    return 1;
}

static int collect_annotation(struct strobe_reader *r, const struct strobe_record *record, uint32_t slot, size_t *room)
{
    bool lasts = record->cpu_span_ns == STROBE_ANNOTATION_BEGIN || record->cpu_span_ns == STROBE_ANNOTATION_END;
    if (record->cpu_span_ns >= STROBE_ANNOTATION_COUNT || (record->duration && !lasts)) {
        r->malformed++;
        return 1;
    }
    if (!strobe_array_reserve(&r->annotations, room, r->annotation_count + 1))
        return 0;
    r->annotations[r->annotation_count++] =
        (struct strobe_reader_annotation){record->ticks,
                                          record->arg,
                                          record->duration,
                                          record->thread,
                                          record->stack,
                                          slot,
                                          (enum strobe_annotation)record->cpu_span_ns};
    return 1;
}

/* Adds a record that is not a sample to the list of its kind. Returns 0 when out of memory. */
static int collect_other(struct strobe_reader *r, const struct strobe_record *record, uint32_t slot,
                         struct capacities *room)
{
    if (record->kind == STROBE_KIND_WAKE)
        return collect_wake(r, record, &room->wakes);
    if (record->kind == STROBE_KIND_COUNTER)
        return collect_counter(r, record, room);
    if (record->kind == STROBE_KIND_ANNOTATION)
        return collect_annotation(r, record, slot, &room->annotations);
    return collect_hitch(r, record, &room->hitches);
}

/* Copies every complete record of the ring, in ring order. */
static int collect_records(struct strobe_reader *r)
{
    struct capacities room = {0};
    uint32_t slots = strobe_ring_slot_count(&r->session.ring);
    for (uint32_t slot = 0; slot < slots; slot++) {
        struct strobe_ring_item found;
        if (slot % STROBE_CHUNK_SLOTS == 0 && strobe_ring_untouched(&r->session.ring, slot)) {
            slot += STROBE_CHUNK_SLOTS - 1;
            continue;
        }
        enum strobe_ring_look look = strobe_ring_look(&r->session.ring, slot, &found);
        if (look == STROBE_LOOK_BUSY) {
            r->half_written++;
            if (strobe_ring_salvage(&r->session.ring, slot, &found))
                look = STROBE_LOOK_RECORD;
        }
        if (look != STROBE_LOOK_RECORD)
            continue;
        if (!is_plausible(r, &found.record)) {
            r->malformed++;
            continue;
        }
        struct strobe_tally *tally = &r->threads[found.record.thread].kind[found.record.kind];
        tally->records++;
        tally->present += found.record.count;
        if (!strobe_kind_is_sample(found.record.kind)) {
            if (!collect_other(r, &found.record, slot, &room))
                return 0;
            continue;
        }
        if (!strobe_array_reserve(&r->items, &room.items, r->item_count + 1))
            return 0;
        struct strobe_item *item = &r->items[r->item_count++];
        *item = (struct strobe_item){.record = found.record, .slot = slot};
        if (found.record.flags & STROBE_FLAG_METRICS) {
            if (!strobe_array_reserve(&r->metrics, &room.metrics, r->metrics_count + 1))
                return 0;
            r->metrics[r->metrics_count++] = found.metrics;
            item->metrics = (uint32_t)r->metrics_count;
        }
    }
    return 1;
}

struct key {
    uint64_t ticks, duration;
    uint32_t item;
};

/* Returns 1 if b, which comes after a in the ring, belongs before a. */
static int is_out_of_order(const struct key *a, const struct key *b)
{
    return b->ticks < a->ticks || (b->ticks == a->ticks && b->duration > a->duration);
}

/* Merges the adjacent sorted runs [low, middle) and [middle, high). Equal keys keep their order. */
static void merge_runs(const struct key *from, struct key *to, size_t low, size_t middle, size_t high)
{
    size_t a = low, b = middle;
    for (size_t out = low; out < high; out++)
        to[out] = b == high || (a < middle && !is_out_of_order(&from[a], &from[b])) ? from[a++] : from[b++];
}

/* Natural merge sort: chunks of the ring are runs already, so few passes are needed. Uses `spare` as scratch. Returns
 * `keys` or `spare`, whichever has the result. */
static struct key *sort_keys(struct key *keys, struct key *spare, size_t count)
{
    for (;;) {
        size_t low = 0, runs = 0;
        while (low < count) {
            size_t middle = low + 1;
            while (middle < count && !is_out_of_order(&keys[middle - 1], &keys[middle]))
                middle++;
            size_t high = middle;
            if (high < count)
                high++;
            while (high < count && !is_out_of_order(&keys[high - 1], &keys[high]))
                high++;
            merge_runs(keys, spare, low, middle, high);
            low = high;
            runs++;
        }
        struct key *sorted = spare;
        spare = keys;
        keys = sorted;
        if (runs <= 1)
            return keys;
    }
}

/* Sorts items by thread, then in the order of struct strobe_reader_thread. */
static int sort_items(struct strobe_reader *r)
{
    struct key *keys = malloc((r->item_count + 1) * sizeof *keys), *spare = malloc((r->item_count + 1) * sizeof *spare);
    struct strobe_item *sorted = malloc((r->item_count + 1) * sizeof *sorted);
    size_t *place = calloc((size_t)r->thread_count + 1, sizeof *place);
    int ok = keys && spare && sorted && place;
    strobe_prefer_large_pages(keys, r->item_count * sizeof *keys);
    strobe_prefer_large_pages(spare, r->item_count * sizeof *spare);
    strobe_prefer_large_pages(sorted, r->item_count * sizeof *sorted);
    if (ok) {
        for (size_t i = 0; i < r->item_count; i++)
            place[r->items[i].record.thread + 1]++;
        for (uint32_t t = 0; t < r->thread_count; t++) {
            r->threads[t].items = sorted + place[t];
            r->threads[t].item_count = place[t + 1];
            place[t + 1] += place[t];
        }
        for (size_t i = 0; i < r->item_count; i++) {
            const struct strobe_record *record = &r->items[i].record;
            keys[place[record->thread]++] = (struct key){record->ticks, record->duration, (uint32_t)i};
        }
        for (uint32_t t = 0; t < r->thread_count; t++) {
            size_t from = (size_t)(r->threads[t].items - sorted), count = r->threads[t].item_count;
            const struct key *done = sort_keys(keys + from, spare + from, count);
            for (size_t i = 0; i < count; i++)
                sorted[from + i] = r->items[done[i].item];
        }
        free(r->items);
        r->items = sorted;
        sorted = NULL;
    }
    free(keys);
    free(spare);
    free(sorted);
    free(place);
    return ok;
}

/* ---- wakes */

static int compare_uint(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_waiter(const void *a, const void *b)
{
    const struct strobe_reader_wake *v = a, *w = b;
    int order = compare_uint(v->waiter, w->waiter);
    order = order ? order : compare_uint(v->end_ticks, w->end_ticks);
    order = order ? order : compare_uint(v->what, w->what);
    order = order ? order : compare_uint(v->release_ticks, w->release_ticks);
    order = order ? order : compare_uint(v->waker, w->waker);
    return order ? order : compare_uint(v->stack, w->stack);
}

/* Returns the wake of a scope, or NULL. */
static struct strobe_reader_wake *find_scope_wake(struct strobe_reader *r, const struct strobe_record *scope)
{
    size_t low = 0, high = r->wake_count;
    struct strobe_reader_wake wanted = {
        .waiter = scope->thread, .end_ticks = scope->ticks + scope->duration, .what = scope->arg};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_waiter(&r->wakes[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    struct strobe_reader_wake *w = &r->wakes[low];
    return low < r->wake_count && w->waiter == wanted.waiter && w->end_ticks == wanted.end_ticks &&
                   w->what == wanted.what && w->release_ticks >= scope->ticks
               ? w
               : NULL;
}

/* Drops the wakes whose wait has no record, so that each flow has both ends. */
static int drop_orphans(struct strobe_reader *r)
{
    char *found = calloc(r->wake_count + 1, 1);
    if (!found)
        return 0;
    for (size_t i = 0; i < r->item_count; i++) {
        struct strobe_reader_wake *w = NULL;
        if (r->items[i].record.flags & STROBE_FLAG_SCOPE)
            w = find_scope_wake(r, &r->items[i].record);
        if (w)
            found[w - r->wakes] = 1;
    }
    size_t kept = 0;
    for (size_t i = 0; i < r->wake_count; i++)
        if (found[i])
            r->wakes[kept++] = r->wakes[i];
    r->wake_count = kept;
    free(found);
    return 1;
}

struct release {
    uint64_t ticks;
    uint32_t waker, wake;
};

static int by_waker(const void *a, const void *b)
{
    const struct release *v = a, *w = b;
    int order = compare_uint(v->waker, w->waker);
    order = order ? order : compare_uint(v->ticks, w->ticks);
    return order ? order : compare_uint(v->wake, w->wake);
}

/* Assigns to each thread the wakes of its waits and of its releases. */
static int arrange_wakes(struct strobe_reader *r)
{
    if (!r->wake_count)
        return 1;
    qsort(r->wakes, r->wake_count, sizeof *r->wakes, by_waiter);
    struct release *releases = malloc(r->wake_count * sizeof *releases);
    r->wakes_by_waker = malloc(r->wake_count * sizeof *r->wakes_by_waker);
    int ok = releases && r->wakes_by_waker && drop_orphans(r);
    size_t count = 0;
    for (uint32_t i = 0; ok && i < r->wake_count; i++) {
        const struct strobe_reader_wake *w = &r->wakes[i];
        struct strobe_reader_thread *t = &r->threads[w->waiter];
        t->woken = t->woken_count++ ? t->woken : w;
        if (w->waker != STROBE_NO_THREAD)
            releases[count++] = (struct release){w->release_ticks, w->waker, i};
    }
    if (ok)
        qsort(releases, count, sizeof *releases, by_waker);
    for (size_t i = 0; ok && i < count; i++) {
        struct strobe_reader_thread *t = &r->threads[releases[i].waker];
        r->wakes_by_waker[i] = releases[i].wake;
        t->wakes = t->wake_count++ ? t->wakes : &r->wakes_by_waker[i];
    }
    free(releases);
    return ok;
}

/* ---- time series */

static int by_series(const void *a, const void *b)
{
    const struct strobe_reader_counter *v = a, *w = b;
    int order = compare_uint(v->what, w->what);
    order = order ? order : compare_uint(v->ticks, w->ticks);
    return order ? order : compare_uint(v->value, w->value);
}

/* At equal begins the longest comes first. */
static int by_hitch_begin(const void *a, const void *b)
{
    const struct strobe_reader_hitch *v = a, *w = b;
    int order = compare_uint(v->begin_ticks, w->begin_ticks);
    order = order ? order : compare_uint(v->thread, w->thread);
    order = order ? order : compare_uint(w->end_ticks, v->end_ticks);
    return order ? order : compare_uint(w->stack, v->stack);
}

/* Sorts counters and hitches. A hitch can have several records, because the engine also writes it while it lasts. The
 * longest is kept, with the first stack found in any of them. */
static void arrange_series(struct strobe_reader *r)
{
    size_t kept = 0;
    if (r->counter_count)
        qsort(r->counters, r->counter_count, sizeof *r->counters, by_series);
    if (r->hitch_count)
        qsort(r->hitches, r->hitch_count, sizeof *r->hitches, by_hitch_begin);
    for (size_t i = 0; i < r->hitch_count; i++) {
        const struct strobe_reader_hitch *h = &r->hitches[i];
        struct strobe_reader_hitch *last = kept ? &r->hitches[kept - 1] : NULL;
        if (!last || last->begin_ticks != h->begin_ticks || last->thread != h->thread)
            r->hitches[kept++] = *h;
        else if (!last->stack)
            last->stack = h->stack;
    }
    r->hitch_count = kept;
}

static void include_series(struct strobe_reader *r)
{
    for (size_t i = 0; i < r->counter_count; i++)
        if (r->counters[i].ticks > r->last_ticks)
            r->last_ticks = r->counters[i].ticks;
    for (size_t i = 0; i < r->wait_call_count; i++)
        if (r->wait_calls[i].ticks > r->last_ticks)
            r->last_ticks = r->wait_calls[i].ticks;
    for (size_t i = 0; i < r->hitch_count; i++)
        if (r->hitches[i].end_ticks > r->last_ticks)
            r->last_ticks = r->hitches[i].end_ticks;
}

/* ---- annotations */

static uint64_t annotation_depth(const struct strobe_reader_annotation *a)
{
    return a->what == STROBE_ANNOTATION_BEGIN || a->what == STROBE_ANNOTATION_END ? a->value : 0;
}

/* Orders records of one depth and time: ends of earlier sections, a section's begin, and the same section whole. */
static uint64_t annotation_rank(const struct strobe_reader_annotation *a)
{
    if (!annotation_depth(a))
        return 0;
    return a->what == STROBE_ANNOTATION_BEGIN ? 1 : a->duration ? 2 : 0;
}

static int by_thread_and_ticks(const void *a, const void *b)
{
    const struct strobe_reader_annotation *v = a, *w = b;
    int order = compare_uint(v->thread, w->thread);
    order = order ? order : compare_uint(v->ticks, w->ticks);
    order = order ? order : compare_uint(annotation_depth(v), annotation_depth(w));
    order = order ? order : compare_uint(annotation_rank(v), annotation_rank(w));
    return order ? order : compare_uint(v->slot, w->slot);
}

static void arrange_annotations(struct strobe_reader *r)
{
    if (r->annotation_count)
        qsort(r->annotations, r->annotation_count, sizeof *r->annotations, by_thread_and_ticks);
}

static void extend_to_annotations(struct strobe_reader *r)
{
    for (size_t i = 0; i < r->annotation_count; i++)
        if (r->annotations[i].ticks + r->annotations[i].duration > r->last_ticks)
            r->last_ticks = r->annotations[i].ticks + r->annotations[i].duration;
}

int strobe_reader_annotation_name(const struct strobe_reader *r, const struct strobe_reader_annotation *a,
                                  char name[STROBE_ANNOTATION_NAME_BYTES + 1])
{
    uint64_t words[STROBE_ANNOTATION_WORDS];
    uint32_t count;
    return strobe_stack_frames(&r->session.stacks, a->stack, words, STROBE_ANNOTATION_WORDS, &count) == STROBE_OK &&
           strobe_annotation_unpack(words, count, name);
}

/* ---- threads and losses */

static void tally_settle(struct strobe_tally *t)
{
    t->in_flight =
        (int64_t)(t->requests - t->sampled - t->gated - t->paused - t->reentrant - t->unwind_failed - t->dropped);
    t->overwritten = (int64_t)(t->sampled - t->present);
}

static void tally_add(struct strobe_tally *sum, const struct strobe_tally *t)
{
    sum->requests += t->requests;
    sum->sampled += t->sampled;
    sum->gated += t->gated;
    sum->paused += t->paused;
    sum->reentrant += t->reentrant;
    sum->unwind_failed += t->unwind_failed;
    sum->dropped += t->dropped;
    sum->records += t->records;
    sum->present += t->present;
    tally_settle(sum);
}

static void read_account(const struct strobe_account *a, struct strobe_tally *t)
{
    t->requests = strobe_account_requests(a);
    t->sampled = strobe_load_relaxed(&a->sampled);
    t->gated = strobe_load_relaxed(&a->gated);
    t->paused = strobe_load_relaxed(&a->paused);
    t->reentrant = strobe_load_relaxed(&a->reentrant);
    t->unwind_failed = strobe_load_relaxed(&a->unwind_failed);
    t->dropped = strobe_load_relaxed(&a->dropped);
}

static void read_thread(struct strobe_reader *r, const struct strobe_thread_entry *e, struct strobe_reader_thread *t)
{
    t->tid = e->tid;
    t->generation = e->generation;
    t->is_main = e->is_main != 0;
    uint32_t state = strobe_load_acquire(&e->state);
    t->state = state <= STROBE_THREAD_CUT_SHORT ? (enum strobe_thread_state)state : STROBE_THREAD_FREE;
    t->start_ticks = e->start_ticks;
    t->end_ticks = e->end_ticks;
    t->last_ticks = t->start_ticks;
    uint32_t kind = strobe_load_relaxed(&e->scope_kind);
    if (kind > STROBE_KIND_NONE && kind < STROBE_KIND_COUNT && t->state == STROBE_THREAD_LIVE) {
        t->open_kind = (enum strobe_kind)kind;
        t->open_begin_ticks = strobe_load_relaxed(&e->scope_begin_ticks);
    }
    t->alloc_count = strobe_load_relaxed(&e->alloc_count);
    t->alloc_bytes = strobe_load_relaxed(&e->alloc_bytes);
    t->short_waits = strobe_load_relaxed(&e->short_waits);
    t->short_wait_ticks = strobe_load_relaxed(&e->short_wait_ticks);
    t->overwrote = strobe_load_relaxed(&e->overwrote_samples);
    memcpy(t->name, e->name, sizeof e->name);
    if (!t->name[0])
        snprintf(t->name, sizeof t->name, "thread %u", t->tid);
    for (unsigned k = 0; k < STROBE_KIND_COUNT; k++)
        read_account(&e->account[k], &t->kind[k]);
    r->overwrote += t->overwrote;
}

static int read_threads(struct strobe_reader *r)
{
    r->thread_count = strobe_session_thread_count(&r->session);
    r->threads = calloc((size_t)r->thread_count + 1, sizeof *r->threads);
    if (!r->threads)
        return 0;
    for (uint32_t i = 0; i < r->thread_count; i++)
        read_thread(r, &r->session.threads[i], &r->threads[i]);
    return 1;
}

/* Compares the accounts with the records that are present. Finds the last times of threads and of the session. */
static void sum_up_session(struct strobe_reader *r)
{
    const struct strobe_session_header *h = r->session.header;
    r->first_ticks = r->last_ticks = h->begin.ticks;
    for (uint32_t i = 0; i < r->thread_count; i++) {
        struct strobe_reader_thread *t = &r->threads[i];
        t->first_cpu = t->first_metrics = t->item_count;
        for (size_t j = t->item_count; j--;) {
            const struct strobe_record *record = &t->items[j].record;
            if (record->flags & STROBE_FLAG_CPU)
                t->first_cpu = j;
            if (t->items[j].metrics)
                t->first_metrics = j;
            if (record->count > r->largest)
                r->largest = record->count;
            if (record->ticks + record->duration > t->last_ticks)
                t->last_ticks = record->ticks + record->duration;
        }
        for (unsigned k = 0; k < STROBE_KIND_COUNT; k++) {
            tally_settle(&t->kind[k]);
            tally_add(&t->all, &t->kind[k]);
            if (strobe_kind_is_sample(k))
                t->samples += t->kind[k].present;
            if (k != STROBE_KIND_COUNTER && k != STROBE_KIND_HITCH)
                t->dropped += t->kind[k].dropped;
        }
        tally_add(&r->all, &t->all);
        int64_t overwritten =
            t->all.overwritten - t->kind[STROBE_KIND_COUNTER].overwritten - t->kind[STROBE_KIND_HITCH].overwritten;
        t->overwritten = overwritten > 0 ? (uint64_t)overwritten : 0;
        r->samples += t->samples;
        r->dropped += t->dropped;
        if (t->last_call_ticks > t->last_ticks)
            t->last_ticks = t->last_call_ticks;
        if ((t->item_count || t->last_call_ticks) && t->last_ticks > r->last_ticks)
            r->last_ticks = t->last_ticks;
    }
    include_series(r);
    extend_to_annotations(r);
    if (h->cause.trigger && h->cause.ticks > r->last_ticks) /* a dump ends when its trigger was seen */
        r->last_ticks = h->cause.ticks;
    if (r->closed && h->end.ticks > r->last_ticks)
        r->last_ticks = h->end.ticks;
    r->overwrote += strobe_load_relaxed(&h->async_overwrote_samples);
    r->untracked = strobe_load_relaxed(&h->events_untracked);
    r->suspends = strobe_load_relaxed(&h->suspends);
    r->resumes = strobe_load_relaxed(&h->resumes);
    r->stacks_refused = strobe_load_relaxed(&r->session.stacks.head->full_count);
}

static int read_whole(struct strobe_reader *r)
{
    r->closed = strobe_load_acquire(&r->session.header->state) == STROBE_SESSION_CLOSED;
    set_clock(r);
    r->image_count = strobe_session_image_count(&r->session);
    if (!read_threads(r) || !strobe_reader_read_call_blocks(r) || !collect_records(r) || !sort_items(r) ||
        !arrange_wakes(r))
        return 0;
    arrange_series(r);
    strobe_reader_arrange_wait_calls(r);
    arrange_annotations(r);
    sum_up_session(r);
    return strobe_code_split(r) == STROBE_OK;
}

enum strobe_status strobe_reader_open(const char *path, struct strobe_reader **out, struct strobe_error *error)
{
    *out = NULL;
    struct strobe_reader *r = calloc(1, sizeof *r);
    if (!r) {
        strobe_reader_say_status(path, STROBE_IO, error);
        return STROBE_IO;
    }
    enum strobe_status status = strobe_session_open(path, &r->session);
    if (status != STROBE_OK) {
        strobe_reader_say_status(path, status, error);
        free(r);
        return status;
    }
    status = strobe_sched_section_open(path, r->session.header->file_bytes, &r->sched);
    if (status != STROBE_OK) {
        strobe_reader_say_status(path, status, error);
        strobe_reader_close(r);
        return status;
    }
    if (!read_whole(r)) {
        errno = ENOMEM;
        strobe_reader_say_status(path, STROBE_IO, error);
        strobe_reader_close(r);
        return STROBE_IO;
    }
    *out = r;
    return STROBE_OK;
}

void strobe_reader_close(struct strobe_reader *r)
{
    if (!r)
        return;
    strobe_session_unmap(&r->session);
    strobe_sched_section_close(&r->sched);
    free(r->threads);
    free(r->items);
    free(r->metrics);
    free(r->wakes);
    free(r->wakes_by_waker);
    free(r->counters);
    free(r->wait_calls);
    free(r->hitches);
    free(r->annotations);
    free(r->blocks);
    free(r->own_stacks);
    free(r);
}

const struct strobe_image_entry *strobe_reader_image(const struct strobe_reader *r, uint32_t index)
{
    if (index >= r->image_count)
        return NULL;
    const struct strobe_image_entry *image = &r->session.images[index];
    if (strobe_load_acquire(&image->published) != 1 || !memchr(image->path, 0, sizeof image->path))
        return NULL;
    return image;
}

/* ---- identities */

static int check_thread(const struct strobe_reader *r, const struct strobe_reader_thread *t, struct strobe_error *error)
{
    for (unsigned k = 0; k < STROBE_KIND_COUNT; k++) {
        const struct strobe_tally *a = &t->kind[k];
        if (a->in_flight < 0 || (a->in_flight && r->closed && t->state != STROBE_THREAD_CUT_SHORT)) {
            set_error(error,
                      "thread %u, %s: %llu requests, but %lld outcomes (%llu sampled, %llu gated, %llu paused, "
                      "%llu re-entrant, %llu unwind failed, %llu dropped)",
                      t->tid, strobe_kind_name(k), (unsigned long long)a->requests,
                      (long long)(a->requests - (uint64_t)a->in_flight), (unsigned long long)a->sampled,
                      (unsigned long long)a->gated, (unsigned long long)a->paused, (unsigned long long)a->reentrant,
                      (unsigned long long)a->unwind_failed, (unsigned long long)a->dropped);
            return 0;
        }
    }
    if (t->all.in_flight > WRITES_IN_PROGRESS_MAX) {
        set_error(error, "thread %u: %lld requests without an outcome, expected at most %d", t->tid,
                  (long long)t->all.in_flight, WRITES_IN_PROGRESS_MAX);
        return 0;
    }
    return 1;
}

/* Counts the writers that may have been stopped in the middle of a write: threads that were cut short and, if the
 * session was not closed, threads that were alive, and the sampler. */
static uint64_t count_interrupted_writers(const struct strobe_reader *r)
{
    uint64_t count = !r->closed;
    for (uint32_t i = 0; i < r->thread_count; i++) {
        enum strobe_thread_state state = r->threads[i].state;
        bool lives = state == STROBE_THREAD_LIVE || state == STROBE_THREAD_EXITING;
        count += state == STROBE_THREAD_CUT_SHORT || (lives && !r->closed);
    }
    return count;
}

/* Returns the largest number of samples that interrupted writes can leave inconsistent. A record may be committed but
 * not counted, or overwritten but not counted as such, with all samples merged in it. */
static uint64_t samples_in_progress(const struct strobe_reader *r)
{
    return count_interrupted_writers(r) * WRITES_IN_PROGRESS_MAX * (r->largest ? r->largest : 1);
}

int strobe_reader_check(const struct strobe_reader *r, struct strobe_error *error)
{
    for (uint32_t i = 0; i < r->thread_count; i++)
        if (!check_thread(r, &r->threads[i], error))
            return 0;
    int64_t deviation = (int64_t)(r->all.sampled - r->all.present - r->overwrote);
    int64_t tolerance = (int64_t)(samples_in_progress(r) + (r->closed ? r->half_written : 0));
    if (r->malformed) {
        set_error(error, "ring: %llu records hold what no writer writes", (unsigned long long)r->malformed);
        return 0;
    }
    if (deviation > tolerance || deviation < -tolerance) {
        set_error(error, "ring: %llu samples taken, but %llu present and %llu overwritten",
                  (unsigned long long)r->all.sampled, (unsigned long long)r->all.present,
                  (unsigned long long)r->overwrote);
        return 0;
    }
    if (r->suspends - r->resumes > (r->closed ? 0 : 1)) {
        set_error(error, "sampler: %llu suspends, but %llu resumes", (unsigned long long)r->suspends,
                  (unsigned long long)r->resumes);
        return 0;
    }
    return strobe_reader_check_calls(r, count_interrupted_writers(r) * WRITES_IN_PROGRESS_MAX, error);
}

#include "engine/trace/import/btrace3/btrace3_read.h"
#include "engine/base/error_format.h"

#include "engine/trace/import/btrace3/btrace3.h"
#include "engine/util/array.h"
#include "engine/util/cursor.h"
#include "engine/util/idmap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PLAUSIBLE_DEPTH = 512 };
#define DAY_NS ((uint64_t)86400 * 1000000000)
#define MAX_NS ((uint64_t)1 << 60)

/* One record, decoded. */
struct btrace3_record {
    uint32_t type, tid, message;
    uint64_t begin_ns, end_ns, begin_cpu_ns, end_cpu_ns;
    uint64_t objects, bytes;
    uint32_t major_faults, voluntary, involuntary;
    uint32_t stored, walked;
    const uint8_t *methods; /* `stored` words, innermost first */
    size_t size;            /* bytes of the record */
};

struct release {
    uint64_t begin_ns, at_ns;
    size_t order;
    uint32_t tid, type;
    struct strobe_sampled_stack stack;
    bool matched;
};

/* What is known of a thread from its previous record. */
struct previous {
    uint64_t at_ns;
    uint32_t voluntary;
    bool known;
};

struct reading {
    const struct strobe_btrace3_files *files;
    struct strobe_sampled *out;
    struct strobe_btrace3_stats *stats;
    const uint8_t *at, *end; /* of the records */
    uint64_t start_ns;       /* earlier begins of records with an end are moved here; 0 = none */

    struct strobe_idmap method_of; /* method -> index of frames and texts */
    uint64_t *frames;              /* 0: not asked for yet; SKIPPED_FRAME: left out of stacks */
    const uint8_t **texts;         /* entry in the mapping; NULL: it has none */
    size_t method_count, frame_room, text_room;
    uint64_t *stack; /* capacity for the deepest stack so far */
    size_t stack_room;

    struct release *releases; /* by begin, then in the order of the file */
    size_t release_count, release_room;
    struct previous *threads; /* by thread number */
    size_t thread_room;
    bool failed;
};

#define SKIPPED_FRAME UINT64_MAX

/* ---- numbers */

/* The machine is little-endian, as sessions require. */
static inline uint64_t take_le(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

static inline uint64_t next_le(const uint8_t **at, unsigned bytes)
{
    uint64_t value = take_le(*at, bytes);
    *at += bytes;
    return value;
}

/* ---- records */

/* Returns the bytes of a record without its methods. */
static size_t fixed_bytes(uint32_t version, uint32_t type)
{
    return 2 + (version >= 6 ? 4u : 2u) + 4 + 4 * 8 + (type == STROBE_BTRACE3_TRACE_ARG ? 8u : 0) +
           (version >= 4 ? 16u : 0) + (version >= 5 ? 12u : 0) + 8;
}

/* Decodes the record at `at`. Returns false when it is not complete. */
static bool decode_btrace3_record(const struct reading *r, const uint8_t *at, struct btrace3_record *out)
{
    uint32_t version = r->stats->version;
    const uint8_t *begin = at;
    if (r->end - at < 2)
        return false;
    uint32_t type = (uint32_t)take_le(at, 2);
    if ((size_t)(r->end - at) < fixed_bytes(version, type))
        return false;
    *out = (struct btrace3_record){.type = type};
    at += 2;
    out->tid = (uint32_t)next_le(&at, version >= 6 ? 4 : 2);
    out->message = (uint32_t)next_le(&at, 4);
    out->begin_ns = next_le(&at, 8);
    out->end_ns = next_le(&at, 8);
    out->begin_cpu_ns = next_le(&at, 8);
    out->end_cpu_ns = next_le(&at, 8);
    at += type == STROBE_BTRACE3_TRACE_ARG ? 8 : 0;
    if (version >= 4) {
        out->objects = next_le(&at, 8);
        out->bytes = next_le(&at, 8);
    }
    if (version >= 5) {
        out->major_faults = (uint32_t)next_le(&at, 4);
        out->voluntary = (uint32_t)next_le(&at, 4);
        out->involuntary = (uint32_t)next_le(&at, 4);
    }
    out->stored = (uint32_t)next_le(&at, 4);
    out->walked = (uint32_t)next_le(&at, 4);
    out->methods = at;
    if (out->stored > STROBE_BTRACE3_DEPTH_MAX || (size_t)(r->end - at) / 8 < out->stored)
        return false;
    out->size = (size_t)(at - begin) + 8 * (size_t)out->stored;
    return true;
}

/* Returns true when a collector can have written the record. */
static bool is_plausible_record(const struct btrace3_record *e)
{
    uint64_t span = e->end_ns > e->begin_ns ? e->end_ns - e->begin_ns : e->begin_ns - e->end_ns;
    return e->type >= 1 && e->type <= STROBE_BTRACE3_TYPE_MAX && e->begin_ns < MAX_NS && e->end_ns < MAX_NS &&
           e->stored <= PLAUSIBLE_DEPTH && e->stored <= e->walked && e->walked <= STROBE_BTRACE3_DEPTH_MAX &&
           (!e->end_ns || span < DAY_NS);
}

/* Returns true when a plausible record is at `at`, followed by another one or by the end of the file. */
static bool goes_on_at(const struct reading *r, const uint8_t *at)
{
    struct btrace3_record first, second;
    if (!decode_btrace3_record(r, at, &first) || !is_plausible_record(&first))
        return false;
    at += first.size;
    return at == r->end || (decode_btrace3_record(r, at, &second) && is_plausible_record(&second));
}

/* Returns the next place where records go on, or the end. */
static const uint8_t *find_next_record(const struct reading *r, const uint8_t *at)
{
    while (at < r->end && !goes_on_at(r, at))
        at++;
    return at;
}

/* Moves *at to the next record and decodes it. `counts`: counts damage. Returns false at the end. */
static bool next_btrace3_record(struct reading *r, const uint8_t **at, struct btrace3_record *out, bool counts)
{
    struct strobe_btrace3_stats *s = r->stats;
    if (*at == r->end)
        return false;
    if (decode_btrace3_record(r, *at, out) && is_plausible_record(out))
        return true;
    const uint8_t *next = find_next_record(r, *at + 1);
    if (counts && next == r->end) {
        s->tail_bytes = (uint64_t)(r->end - *at);
    } else if (counts) {
        s->first_damaged = s->damaged++ ? s->first_damaged : (uint64_t)(*at - (const uint8_t *)r->files->sampling);
        s->skipped_bytes += (uint64_t)(next - *at);
    }
    *at = next;
    return *at < r->end && decode_btrace3_record(r, *at, out);
}

/* ---- methods */

/* Returns the index of a method; adds it when it is new. */
static size_t method_index(struct reading *r, uint64_t method)
{
    int fresh;
    const uint32_t *known = strobe_idmap_get(&r->method_of, method, 0);
    if (known)
        return *known;
    uint32_t *place = strobe_array_reserve(&r->frames, &r->frame_room, r->method_count + 1) &&
                              strobe_array_reserve(&r->texts, &r->text_room, r->method_count + 1)
                          ? strobe_idmap_put(&r->method_of, method, 0, &fresh)
                          : NULL;
    if (!place) {
        r->failed = true;
        return 0;
    }
    *place = (uint32_t)r->method_count++;
    r->frames[*place] = 0;
    r->texts[*place] = NULL;
    return *place;
}

static uint64_t make_frame(struct reading *r, size_t index, uint64_t method)
{
    static const char runtime[] = "<runtime";
    const uint8_t *entry = r->texts[index];
    char text[32];
    r->stats->methods++;
    if (!entry) {
        int bytes = snprintf(text, sizeof text, "method 0x%" PRIx64, method);
        r->stats->nameless++;
        return strobe_sampled_function(r->out, 0, text, (size_t)bytes);
    }
    size_t bytes = (size_t)take_le(entry + 8, 2);
    const char *name = (const char *)entry + 10;
    if (bytes >= sizeof runtime - 1 && !memcmp(name, runtime, sizeof runtime - 1))
        return SKIPPED_FRAME;
    return strobe_sampled_function(r->out, 0, name, bytes);
}

static uint64_t frame_of_method(struct reading *r, uint64_t method)
{
    size_t index = method_index(r, method);
    if (r->failed)
        return SKIPPED_FRAME;
    if (!r->frames[index])
        r->frames[index] = make_frame(r, index, method);
    return r->frames[index];
}

static struct strobe_sampled_stack stack_of_record(struct reading *r, const struct btrace3_record *e)
{
    size_t count = 0;
    if (!strobe_array_reserve(&r->stack, &r->stack_room, e->stored)) {
        r->failed = true;
        return (struct strobe_sampled_stack){0};
    }
    for (size_t i = e->stored; i-- > 0;) {
        uint64_t frame = frame_of_method(r, take_le(e->methods + 8 * i, 8));
        if (frame != SKIPPED_FRAME)
            r->stack[count++] = frame;
    }
    struct strobe_sampled_stack stack = strobe_sampled_stack(r->out, r->stack, count);
    stack.cut |= e->walked > e->stored;
    return stack;
}

/* ---- the mapping */

/* Reads the entries of methods. Returns the place behind them. */
static const uint8_t *index_methods(struct reading *r, const uint8_t *at, const uint8_t *end, uint64_t count)
{
    for (; count && end - at >= 10; count--) {
        size_t bytes = (size_t)take_le(at + 8, 2);
        if ((size_t)(end - at) - 10 < bytes)
            break;
        size_t index = bytes ? method_index(r, take_le(at, 8)) : 0;
        if (r->failed)
            return end;
        if (bytes)
            r->texts[index] = at;
        at += 10 + bytes;
    }
    if (count) {
        r->stats->mapping_tail = (uint64_t)(end - at);
        return end;
    }
    return at;
}

static void name_btrace3_threads(struct reading *r, const uint8_t *at, const uint8_t *end, unsigned tid_bytes)
{
    while ((size_t)(end - at) > tid_bytes) {
        uint32_t tid = (uint32_t)take_le(at, tid_bytes);
        size_t bytes = at[tid_bytes];
        const char *name = (const char *)at + tid_bytes + 1;
        if ((size_t)(end - at) - tid_bytes - 1 < bytes)
            break;
        at += tid_bytes + 1 + bytes;
        while (bytes && (name[bytes - 1] == '\n' || !name[bytes - 1]))
            bytes--;
        if (bytes)
            strobe_sampled_rename(r->out, strobe_sampled_thread(r->out, tid), name, bytes);
    }
    r->stats->mapping_tail += (uint64_t)(end - at);
}

static enum strobe_status read_btrace3_mapping(struct reading *r, struct strobe_error *error)
{
    const uint8_t *at = r->files->mapping, *end;
    if (!at)
        return STROBE_OK;
    if (r->files->mapping_bytes < STROBE_BTRACE3_MAPPING_BYTES) {
        strobe_error_set(error, "byte %zu: expected the header of a mapping, %d bytes", r->files->mapping_bytes,
                         STROBE_BTRACE3_MAPPING_BYTES);
        return STROBE_TRUNCATED;
    }
    end = at + r->files->mapping_bytes;
    if (next_le(&at, 8)) {
        strobe_error_set(error, "byte 0: expected 8 zero bytes, with which a mapping of btrace 3.0 begins");
        return STROBE_BAD_INPUT;
    }
    uint32_t version = (uint32_t)next_le(&at, 4);
    if (version < 1 || version > STROBE_BTRACE3_MAPPING_VERSION_MAX) {
        strobe_error_set(error, "byte 8: version %" PRIu32 ", expected 1 or 2", version);
        return STROBE_BAD_VERSION;
    }
    uint64_t count = next_le(&at, 4);
    at = index_methods(r, at, end, count);
    name_btrace3_threads(r, at, end, version >= 2 ? 4 : 2);
    return r->failed ? STROBE_IO : STROBE_OK;
}

/* ---- releases */

/* Returns the type of release that ends a wait of this type; 0 = none is recorded. */
static uint32_t release_type(uint32_t type)
{
    switch (type) {
    case STROBE_BTRACE3_PARK: return STROBE_BTRACE3_UNPARK;
    case STROBE_BTRACE3_WAIT: return STROBE_BTRACE3_NOTIFY;
    case STROBE_BTRACE3_MONITOR: return STROBE_BTRACE3_UNLOCK;
    default: return 0;
    }
}

static bool is_btrace3_release(const struct reading *r, uint32_t type)
{
    return r->stats->version >= 5 &&
           (type == STROBE_BTRACE3_UNPARK || type == STROBE_BTRACE3_NOTIFY || type == STROBE_BTRACE3_UNLOCK);
}

static int by_release_begin(const void *a, const void *b)
{
    const struct release *x = a, *y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* Collects all releases first: one may stand behind the wait that it ended. */
static void collect_releases(struct reading *r)
{
    struct btrace3_record e;
    for (const uint8_t *at = r->at; !r->failed && next_btrace3_record(r, &at, &e, false); at += e.size) {
        if (!is_btrace3_release(r, e.type))
            continue;
        if (!strobe_array_reserve(&r->releases, &r->release_room, r->release_count + 1)) {
            r->failed = true;
            return;
        }
        r->releases[r->release_count] =
            (struct release){e.begin_ns, e.end_ns, r->release_count, e.tid, e.type, stack_of_record(r, &e), false};
        r->release_count++;
    }
    if (r->release_count)
        qsort(r->releases, r->release_count, sizeof *r->releases, by_release_begin);
}

/* Returns the last release that can have ended the wait, or NULL. */
static struct release *release_of_wait(const struct reading *r, const struct btrace3_record *e)
{
    size_t low = 0, high = r->release_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->releases[middle].begin_ns <= e->begin_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low && r->releases[low - 1].begin_ns == e->begin_ns; low--) {
        struct release *l = &r->releases[low - 1];
        if (l->type == release_type(e->type) && l->at_ns >= e->begin_ns && l->at_ns <= e->end_ns)
            return l;
    }
    return NULL;
}

static uint32_t main_tid(const struct reading *r)
{
    return r->stats->version >= 6 ? r->stats->pid : r->stats->pid & 0xffff;
}

/* ---- samples */

/* Returns the kind of a record with an end: NONE = it is no wait. */
static enum strobe_kind kind_of_btrace3_wait(uint32_t type)
{
    switch (type) {
    case STROBE_BTRACE3_BINDER: return STROBE_KIND_IPC;
    case STROBE_BTRACE3_WAIT: return STROBE_KIND_COND;
    case STROBE_BTRACE3_PARK: return STROBE_KIND_PARK;
    case STROBE_BTRACE3_MONITOR: return STROBE_KIND_MONITOR;
    case STROBE_BTRACE3_GC: return STROBE_KIND_GC;
    case STROBE_BTRACE3_MUTEX: return STROBE_KIND_MUTEX;
    case STROBE_BTRACE3_LOAD: return STROBE_KIND_LOAD;
    case STROBE_BTRACE3_POLL: return STROBE_KIND_POLL;
    default: return STROBE_KIND_NONE;
    }
}

static enum strobe_kind kind_of_point(uint32_t type)
{
    switch (type) {
    case STROBE_BTRACE3_ALLOCATION: return STROBE_KIND_ALLOC;
    case STROBE_BTRACE3_FLUSH: return STROBE_KIND_ASYNC;
    case STROBE_BTRACE3_UNPARK:
    case STROBE_BTRACE3_NOTIFY:
    case STROBE_BTRACE3_UNLOCK: return STROBE_KIND_UNLOCK;
    default: return kind_of_btrace3_wait(type) == STROBE_KIND_NONE ? STROBE_KIND_JNI : kind_of_btrace3_wait(type);
    }
}

static uint64_t cpu_or_unknown(uint64_t cpu_ns)
{
    return cpu_ns && cpu_ns < MAX_NS ? cpu_ns : STROBE_SAMPLED_CPU_UNKNOWN;
}

/* Returns the thread's previous record; the place is valid until the next call. NULL: out of memory. */
static struct previous *previous_of(struct reading *r, uint32_t thread)
{
    if (thread == STROBE_SAMPLED_NO_THREAD ||
        !strobe_array_reserve_zeroed(&r->threads, &r->thread_room, (size_t)thread + 1)) {
        r->failed = true;
        return NULL;
    }
    return &r->threads[thread];
}

/* Fills in the counters at the end of the record. Returns NULL when the version has none. */
static const struct strobe_metrics *metrics_of(const struct reading *r, const struct btrace3_record *e,
                                               struct previous *before, bool waits, struct strobe_metrics *out)
{
    if (r->stats->version < 4)
        return NULL;
    *out = (struct strobe_metrics){.alloc_count = e->objects,
                                   .alloc_bytes = e->bytes,
                                   .major_faults = e->major_faults,
                                   .voluntary_switches = e->voluntary,
                                   .involuntary_switches = e->involuntary};
    if (waits && before->known && before->at_ns <= e->begin_ns && before->voluntary <= e->voluntary)
        out->voluntary_switches_span = e->voluntary - before->voluntary;
    *before = (struct previous){waits ? e->end_ns : e->begin_ns, e->voluntary, true};
    return out;
}

static void add_btrace3_wait(struct reading *r, const struct btrace3_record *e, uint32_t thread,
                             struct previous *before)
{
    struct strobe_metrics metrics;
    struct strobe_sampled_wait w = {.begin_ns = e->begin_ns,
                                    .end_ns = e->end_ns,
                                    .begin_cpu_ns = e->begin_cpu_ns,
                                    .end_cpu_ns = cpu_or_unknown(e->end_cpu_ns),
                                    .stack = stack_of_record(r, e),
                                    .thread = thread,
                                    .message = e->message,
                                    .kind = kind_of_btrace3_wait(e->type),
                                    .metrics = metrics_of(r, e, before, true, &metrics),
                                    .waker = STROBE_SAMPLED_NO_THREAD};
    struct release *release = e->tid == main_tid(r) && release_type(e->type) ? release_of_wait(r, e) : NULL;
    if (release) {
        release->matched = true;
        w.waker = strobe_sampled_thread(r->out, release->tid);
        w.release_ns = release->at_ns;
        w.woken = release->stack;
        r->stats->wakers++;
    }
    if (r->start_ns > w.begin_ns) {
        w.begin_ns = r->start_ns < w.end_ns ? r->start_ns : w.end_ns;
        w.begin_cpu_ns = w.end_cpu_ns = STROBE_SAMPLED_CPU_UNKNOWN;
    }
    r->stats->waits++;
    if (!strobe_sampled_wait(r->out, &w))
        r->stats->empty++;
}

static void add_btrace3_point(struct reading *r, const struct btrace3_record *e, uint32_t thread,
                              struct previous *before)
{
    bool releases = is_btrace3_release(r, e->type), lasts = !releases && e->end_ns > e->begin_ns;
    struct strobe_metrics metrics;
    struct strobe_sampled_point p = {.first_ns = releases ? e->end_ns : e->begin_ns,
                                     .stack = stack_of_record(r, e),
                                     .thread = thread,
                                     .count = lasts ? 2 : 1,
                                     .message = e->message,
                                     .kind = kind_of_point(e->type),
                                     .metrics = metrics_of(r, e, before, false, &metrics)};
    p.last_ns = lasts ? e->end_ns : p.first_ns;
    p.cpu_ns = cpu_or_unknown(lasts || releases ? e->end_cpu_ns : e->begin_cpu_ns);
    r->stats->backwards += !releases && e->end_ns && e->end_ns < e->begin_ns;
    if (!p.stack.id || !strobe_sampled_point(r->out, &p))
        r->stats->empty++;
}

static void add_btrace3_record(struct reading *r, const struct btrace3_record *e)
{
    uint32_t thread = strobe_sampled_thread(r->out, e->tid);
    struct previous *before = previous_of(r, thread);
    if (!before)
        return;
    r->stats->records++;
    r->stats->cut += e->walked > e->stored;
    if (kind_of_btrace3_wait(e->type) != STROBE_KIND_NONE && e->end_ns > e->begin_ns)
        add_btrace3_wait(r, e, thread, before);
    else
        add_btrace3_point(r, e, thread, before);
}

/* ---- the file */

/* Returns the number behind "key" in JSON text; 0 when there is none. */
static uint64_t number_in_json(const char *text, size_t bytes, const char *key)
{
    struct strobe_cursor c = strobe_cursor(text, bytes);
    for (; c.at < c.end; c.at++) {
        struct strobe_cursor here = c;
        uint64_t number;
        if (!strobe_cursor_take(&here, key))
            continue;
        strobe_cursor_skip_blanks(&here);
        if (!strobe_cursor_take(&here, ":"))
            continue;
        strobe_cursor_skip_blanks(&here);
        if (strobe_cursor_take_number(&here, MAX_NS, &number))
            return number;
    }
    return 0;
}

static enum strobe_status read_btrace3_header(struct reading *r, struct strobe_error *error)
{
    const uint8_t *at = r->files->sampling;
    size_t bytes = r->files->sampling_bytes;
    if (bytes < STROBE_BTRACE3_HEADER_BYTES) {
        strobe_error_set(error, "byte %zu: expected the header of a capture, %d bytes", bytes,
                         STROBE_BTRACE3_HEADER_BYTES);
        return STROBE_TRUNCATED;
    }
    if (take_le(at, 4) != STROBE_BTRACE3_MAGIC || take_le(at + 4, 4)) {
        strobe_error_set(error, "byte 0: expected the bytes 04 03 02 01 and four zeros, with which a capture of btrace "
                                "3.0 for Android begins");
        return STROBE_BAD_INPUT;
    }
    r->stats->version = (uint32_t)take_le(at + 8, 4);
    if (r->stats->version < 1 || r->stats->version > STROBE_BTRACE3_VERSION_MAX) {
        strobe_error_set(error, "byte 8: version %" PRIu32 ", expected 1 to %d", r->stats->version,
                         STROBE_BTRACE3_VERSION_MAX);
        return STROBE_BAD_VERSION;
    }
    uint64_t extra = take_le(at + 24, 4);
    if (extra > bytes - STROBE_BTRACE3_HEADER_BYTES) {
        strobe_error_set(error, "byte 24: a text of %" PRIu64 " bytes, but the file has %zu more", extra,
                         bytes - STROBE_BTRACE3_HEADER_BYTES);
        return STROBE_TRUNCATED;
    }
    const char *text = (const char *)at + STROBE_BTRACE3_HEADER_BYTES;
    uint64_t pid = number_in_json(text, extra, "\"processId\""),
             start_ms = number_in_json(text, extra, "\"startTime\"");
    r->stats->pid = pid <= INT32_MAX ? (uint32_t)pid : 0;
    r->start_ns = start_ms < MAX_NS / 1000000 ? start_ms * 1000000 : 0;
    r->at = (const uint8_t *)text + extra;
    r->end = at + bytes;
    return STROBE_OK;
}

static enum strobe_status read_btrace3(struct reading *r, bool *of_mapping, struct strobe_error *error)
{
    struct btrace3_record e;
    enum strobe_status status = read_btrace3_header(r, error);
    *of_mapping = status == STROBE_OK;
    if (status == STROBE_OK)
        status = read_btrace3_mapping(r, error);
    if (status != STROBE_OK)
        return status;
    strobe_sampled_process(r->out, r->stats->pid, main_tid(r), "");
    collect_releases(r);
    for (const uint8_t *at = r->at; !r->failed && next_btrace3_record(r, &at, &e, true); at += e.size)
        add_btrace3_record(r, &e);
    for (size_t i = 0; i < r->release_count; i++)
        r->stats->releases_lost += !r->releases[i].matched;
    return r->failed ? STROBE_IO : STROBE_OK;
}

enum strobe_status strobe_btrace3_read(const struct strobe_btrace3_files *files, struct strobe_sampled *out,
                                       struct strobe_btrace3_stats *stats, bool *of_mapping, struct strobe_error *error)
{
    *stats = (struct strobe_btrace3_stats){0};
    struct reading r = {.files = files, .out = out, .stats = stats};
    enum strobe_status status = read_btrace3(&r, of_mapping, error);
    strobe_idmap_free(&r.method_of);
    free(r.frames);
    free(r.texts);
    free(r.stack);
    free(r.releases);
    free(r.threads);
    return status;
}

#include "engine/trace/import/samples_store.h"

#include "engine/store/reserve.h"
#include "engine/store/session.h"
#include "engine/util/array.h"
#include "engine/util/idmap.h"
#include "engine/util/text_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    THREADS_LIMIT = 1 << 16,
    IMAGES_LIMIT = 1 << 15,
    STACK_NODES = 1 << 10, /* of the first stack table; each later one has STACK_GROWTH times as many */
    STACK_GROWTH = 8,
    BUFFERED = 1 << 9,      /* records in memory; more go to the temporary file */
    GAP_BUCKETS = 256,      /* four for each power of two */
    FRAME_BYTES = 16,       /* distance between the addresses of two functions */
    IMAGE_BITS = 36,        /* each image has its own range of addresses */
    INTERVAL_MAX_BITS = 40, /* an interval is below 2^40 ns */
};

struct samples_thread {
    uint32_t tid;
    bool seen, ended;
    char name[32];
    uint64_t first_ns, last_ns, end_ns;
    uint64_t point_ns; /* time of its last point + 1; 0 = none */
    uint64_t samples[STROBE_KIND_COUNT];
};

struct samples_image {
    uint32_t text; /* its path, in the pool; no image: UINT32_MAX */
    uint32_t functions;
    uint64_t hash[2];                      /* of its functions' names in order */
    struct strobe_sampled_mapping mapping; /* end 0: it has synthesized addresses */
};

struct samples_function {
    uint32_t text;
    uint64_t frame;
};

/* A record on its way to the session. */
struct pending {
    struct strobe_record record;
    struct strobe_metrics metrics; /* when the record's flag says so */
};

/* A stack table in memory of its own. */
struct stacks {
    struct strobe_stack_table table;
    void *memory; /* holds the table at its first aligned address */
};

struct strobe_sampled {
    enum strobe_status status;
    int error; /* errno of STROBE_IO */
    uint32_t pid, main_tid;
    char command[256];
    uint64_t interval_ns, tick_ns;
    uint64_t gaps[GAP_BUCKETS], gap_count; /* times between points of one thread */

    struct samples_thread *threads;
    size_t thread_count, thread_room;
    struct strobe_idmap living; /* tid -> thread */

    struct strobe_text_pool texts;
    struct samples_image *images;
    size_t image_count, image_room;
    struct strobe_idmap image_of; /* text -> image */
    struct samples_function *functions;
    size_t function_count, function_room;
    struct strobe_idmap function_of; /* (image, text) -> function */
    uint64_t names_bytes;

    struct stacks stacks;
    struct strobe_stack_cursor cursor;

    struct pending *buffer;
    size_t buffered;
    int spool; /* -1: none */
    uint64_t spooled, slots, samples;
    uint64_t first_ns, last_ns;
    uint32_t metrics; /* STROBE_METRIC_* that occur */
};

/* ---- state */

static void samples_fail(struct strobe_sampled *s, enum strobe_status status)
{
    if (s->status != STROBE_OK)
        return;
    s->error = errno ? errno : ENOMEM;
    s->status = status;
}

/* Returns a new file without a name, or -1 with errno. */
static int open_nameless_file(void)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_MAX];
    if (!folder || !*folder)
        folder = "/tmp";
    if (snprintf(path, sizeof path, "%s/strobe-XXXXXX", folder) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

/* ---- stack tables */

static bool open_stacks(struct stacks *s, uint32_t nodes)
{
    enum { ALIGNMENT = 64 };
    size_t bytes = strobe_stack_table_bytes(nodes);
    s->memory = calloc(1, bytes + ALIGNMENT);
    if (!s->memory)
        return false;
    void *table = (void *)(((uintptr_t)s->memory + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
    strobe_stack_table_create(table, nodes);
    return strobe_stack_table_open(table, bytes, &s->table) == STROBE_OK;
}

/* Copies all stacks to another table, which is empty. Parents precede their children, so each stack adds one node, and
 * ids stay the same. STROBE_NO_ENTRY: that table is too small. STROBE_IO: out of memory. */
static enum strobe_status copy_stack_table(const struct strobe_stack_table *from, const struct strobe_stack_table *to)
{
    struct strobe_stack_cursor *cursor = calloc(1, sizeof *cursor);
    uint32_t nodes = strobe_stack_node_count(from);
    enum strobe_status status = cursor ? STROBE_OK : STROBE_IO;
    for (uint32_t id = 1; id <= nodes && status == STROBE_OK; id++) {
        uint64_t frames[STROBE_STACK_DEPTH_MAX];
        uint32_t count, stored = 0;
        status = strobe_stack_frames(from, id, frames, STROBE_STACK_DEPTH_MAX, &count);
        if (status == STROBE_OK &&
            (strobe_stack_intern(to, cursor, frames, count, &stored) != STROBE_OK || stored != id))
            status = STROBE_NO_ENTRY;
    }
    free(cursor);
    return status;
}

/* Replaces the table by a larger one. STROBE_FULL: no session has a larger one. */
static enum strobe_status grow_stacks(struct stacks *s)
{
    struct stacks larger;
    uint32_t nodes = s->table.head->node_capacity;
    if (nodes == STROBE_STACK_NODES_MAX)
        return STROBE_FULL;
    nodes = nodes < STROBE_STACK_NODES_MAX / STACK_GROWTH ? nodes * STACK_GROWTH : STROBE_STACK_NODES_MAX;
    enum strobe_status status = open_stacks(&larger, nodes) ? copy_stack_table(&s->table, &larger.table) : STROBE_IO;
    if (status == STROBE_OK) {
        free(s->memory);
        *s = larger;
    } else {
        free(larger.memory);
    }
    return status == STROBE_NO_ENTRY ? STROBE_FULL : status;
}

enum strobe_status strobe_sampled_open(struct strobe_sampled **out)
{
    struct strobe_sampled *s = *out = calloc(1, sizeof *s);
    if (!s)
        return STROBE_IO;
    s->spool = -1;
    s->first_ns = UINT64_MAX;
    s->buffer = malloc(BUFFERED * sizeof *s->buffer);
    if (!s->buffer || !open_stacks(&s->stacks, STACK_NODES) ||
        !strobe_array_reserve_zeroed(&s->images, &s->image_room, 1)) {
        strobe_sampled_close(s);
        *out = NULL;
        return STROBE_IO;
    }
    s->images[0].text = UINT32_MAX;
    s->image_count = 1;
    return STROBE_OK;
}

void strobe_sampled_close(struct strobe_sampled *s)
{
    if (!s)
        return;
    free(s->stacks.memory);
    if (s->spool >= 0)
        close(s->spool);
    strobe_idmap_free(&s->living);
    strobe_idmap_free(&s->image_of);
    strobe_idmap_free(&s->function_of);
    strobe_text_pool_free(&s->texts);
    free(s->threads);
    free(s->images);
    free(s->functions);
    free(s->buffer);
    free(s);
}

void strobe_sampled_process(struct strobe_sampled *s, uint32_t pid, uint32_t main_tid, const char *command)
{
    s->pid = pid;
    s->main_tid = main_tid;
    snprintf(s->command, sizeof s->command, "%s", command);
}

void strobe_sampled_interval(struct strobe_sampled *s, uint64_t interval_ns, uint64_t tick_ns)
{
    const uint64_t most = (uint64_t)1 << INTERVAL_MAX_BITS;
    s->interval_ns = interval_ns < most ? interval_ns : most;
    s->tick_ns = tick_ns < most ? tick_ns : most;
}

uint64_t strobe_sampled_count(const struct strobe_sampled *s)
{
    return s->samples;
}

uint64_t strobe_sampled_threads(const struct strobe_sampled *s)
{
    return s->thread_count;
}

/* ---- threads */

uint32_t strobe_sampled_thread(struct strobe_sampled *s, uint32_t tid)
{
    int fresh;
    const uint32_t *known = strobe_idmap_get(&s->living, tid, 0);
    if (known && *known != UINT32_MAX)
        return *known;
    if (s->status != STROBE_OK)
        return STROBE_SAMPLED_NO_THREAD;
    if (s->thread_count == THREADS_LIMIT) {
        samples_fail(s, STROBE_FULL);
        return STROBE_SAMPLED_NO_THREAD;
    }
    uint32_t *place = strobe_array_reserve(&s->threads, &s->thread_room, s->thread_count + 1)
                          ? strobe_idmap_put(&s->living, tid, 0, &fresh)
                          : NULL;
    if (!place) {
        samples_fail(s, STROBE_IO);
        return STROBE_SAMPLED_NO_THREAD;
    }
    s->threads[s->thread_count] = (struct samples_thread){.tid = tid};
    return *place = (uint32_t)s->thread_count++;
}

void strobe_sampled_rename(struct strobe_sampled *s, uint32_t thread, const char *name, size_t bytes)
{
    if (thread >= s->thread_count)
        return;
    struct samples_thread *t = &s->threads[thread];
    size_t most = sizeof t->name - 1, n = bytes < most ? bytes : most;
    memset(t->name, 0, sizeof t->name);
    memcpy(t->name, name, n);
}

void strobe_sampled_thread_end(struct strobe_sampled *s, uint32_t thread, uint64_t time_ns)
{
    if (thread >= s->thread_count || s->threads[thread].ended)
        return;
    struct samples_thread *t = &s->threads[thread];
    t->ended = true;
    t->end_ns = time_ns < STROBE_SAMPLED_TIME_MAX ? time_ns : STROBE_SAMPLED_TIME_MAX;
    uint32_t *place = strobe_idmap_get(&s->living, t->tid, 0);
    if (place)
        *place = UINT32_MAX;
}

/* ---- functions and stacks */

uint32_t strobe_sampled_image(struct strobe_sampled *s, const char *path, size_t bytes)
{
    int fresh;
    if (!bytes || s->status != STROBE_OK)
        return 0;
    uint32_t text = strobe_text_number(&s->texts, path, bytes);
    const uint32_t *known = text == UINT32_MAX ? NULL : strobe_idmap_get(&s->image_of, text, 0);
    if (known)
        return *known;
    if (s->image_count == IMAGES_LIMIT) /* further functions have no image */
        return 0;
    uint32_t *place = text != UINT32_MAX && strobe_array_reserve_zeroed(&s->images, &s->image_room, s->image_count + 1)
                          ? strobe_idmap_put(&s->image_of, text, 0, &fresh)
                          : NULL;
    if (!place) {
        samples_fail(s, STROBE_IO);
        return 0;
    }
    s->images[s->image_count] = (struct samples_image){.text = text};
    return *place = (uint32_t)s->image_count++;
}

void strobe_sampled_map(struct strobe_sampled *s, const char *path, size_t bytes,
                        const struct strobe_sampled_mapping *mapping)
{
    if (s->status != STROBE_OK || s->image_count == IMAGES_LIMIT || mapping->start >= mapping->end)
        return;
    uint32_t text = strobe_text_number(&s->texts, path, bytes);
    if (text == UINT32_MAX || !strobe_array_reserve_zeroed(&s->images, &s->image_room, s->image_count + 1)) {
        samples_fail(s, STROBE_IO);
        return;
    }
    s->images[s->image_count++] = (struct samples_image){.text = text, .mapping = *mapping};
}

static uint64_t image_start(size_t image)
{
    return (uint64_t)image << IMAGE_BITS;
}

/* Adds a function that is new. Its frame is a return address: a lookup asks for the byte before it. */
static void add_function(struct strobe_sampled *s, uint32_t image, uint32_t text)
{
    struct samples_image *i = &s->images[image];
    const char *name = s->texts.texts[text];
    size_t bytes = strlen(name);
    struct samples_function *f = &s->functions[s->function_count++];
    *f = (struct samples_function){text, image_start(image) + FRAME_BYTES * (uint64_t)i->functions++ + 1};
    s->names_bytes += strobe_names_entry_bytes(bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX, false);
    for (size_t k = 0; k <= bytes; k++) {
        i->hash[0] = strobe_mix_pair(i->hash[0], (unsigned char)name[k]);
        i->hash[1] = strobe_mix_pair(i->hash[1], i->hash[0]);
    }
}

uint64_t strobe_sampled_function(struct strobe_sampled *s, uint32_t image, const char *name, size_t bytes)
{
    int fresh = 0;
    if (s->status != STROBE_OK)
        return 0;
    if (!bytes || !*name)
        name = "[unknown]", bytes = strlen(name);
    uint32_t text = strobe_text_number(&s->texts, name, bytes);
    uint32_t *place =
        text != UINT32_MAX && strobe_array_reserve(&s->functions, &s->function_room, s->function_count + 1)
            ? strobe_idmap_put(&s->function_of, image, text, &fresh)
            : NULL;
    if (!place) {
        samples_fail(s, STROBE_IO);
        return 0;
    }
    if (fresh) {
        *place = (uint32_t)s->function_count;
        add_function(s, image, text);
    }
    return s->functions[*place].frame;
}

struct strobe_sampled_stack strobe_sampled_stack(struct strobe_sampled *s, const uint64_t *frames, size_t count)
{
    struct strobe_sampled_stack out = {0, count > STROBE_STACK_DEPTH_MAX};
    if (s->status != STROBE_OK || !count)
        return out;
    if (out.cut) {
        frames += count - STROBE_STACK_DEPTH_MAX;
        count = STROBE_STACK_DEPTH_MAX;
    }
    while (strobe_stack_intern(&s->stacks.table, &s->cursor, frames, (uint32_t)count, &out.id) != STROBE_OK) {
        enum strobe_status status = grow_stacks(&s->stacks);
        s->cursor = (struct strobe_stack_cursor){.depth = 0};
        if (status != STROBE_OK) {
            samples_fail(s, status);
            break;
        }
    }
    return out;
}

/* ---- records */

static bool spool_write(int fd, const void *data, size_t bytes)
{
    for (const char *at = data; bytes;) {
        ssize_t done = write(fd, at, bytes);
        if (done < 0 && errno != EINTR)
            return false;
        at += done > 0 ? done : 0;
        bytes -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

/* Reads up to `bytes` bytes at the file's position. Returns false for an error. */
static bool spool_read(int fd, void *data, size_t bytes)
{
    for (char *at = data; bytes;) {
        ssize_t done = read(fd, at, bytes);
        if (done == 0)
            errno = EIO;
        if (done == 0 || (done < 0 && errno != EINTR))
            return false;
        at += done > 0 ? done : 0;
        bytes -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static void empty_buffer(struct strobe_sampled *s)
{
    errno = 0;
    if (s->spool < 0)
        s->spool = open_nameless_file();
    if (s->spool < 0 || !spool_write(s->spool, s->buffer, s->buffered * sizeof *s->buffer)) {
        samples_fail(s, STROBE_IO);
        return;
    }
    s->spooled += s->buffered;
    s->buffered = 0;
}

static void note_time(struct strobe_sampled *s, struct samples_thread *t, uint64_t first_ns, uint64_t last_ns)
{
    if (!t->seen || first_ns < t->first_ns)
        t->first_ns = first_ns;
    if (!t->seen || last_ns > t->last_ns)
        t->last_ns = last_ns;
    t->seen = true;
    s->first_ns = first_ns < s->first_ns ? first_ns : s->first_ns;
    s->last_ns = last_ns > s->last_ns ? last_ns : s->last_ns;
}

static void put_pending(struct strobe_sampled *s, struct strobe_record *record, const struct strobe_metrics *metrics)
{
    struct samples_thread *t = &s->threads[record->thread];
    if (s->buffered == BUFFERED)
        empty_buffer(s);
    if (s->status != STROBE_OK)
        return;
    if (metrics) {
        record->flags |= STROBE_FLAG_METRICS;
        s->metrics |= (metrics->alloc_count ? STROBE_METRIC_ALLOC : 0u) |
                      (metrics->minor_faults || metrics->major_faults ? STROBE_METRIC_FAULTS : 0u) |
                      (metrics->voluntary_switches || metrics->involuntary_switches ? STROBE_METRIC_SWITCHES : 0u);
    }
    struct pending *p = &s->buffer[s->buffered++];
    p->record = *record;
    if (metrics)
        p->metrics = *metrics;
    else
        memset(&p->metrics, 0, sizeof p->metrics);
    s->slots += metrics ? 2 : 1;
    t->samples[record->kind] += record->count;
    note_time(s, t, record->ticks, record->ticks + record->duration);
    if (strobe_kind_is_sample(record->kind))
        s->samples += record->count;
}

static bool times_fit(const struct strobe_sampled *s, uint32_t thread, uint64_t first_ns, uint64_t last_ns)
{
    return thread < s->thread_count && first_ns <= last_ns && last_ns < STROBE_SAMPLED_TIME_MAX;
}

/* Counts the time between two points in its bucket: the position of the highest bit, and the two bits below it. */
static void count_gap(struct strobe_sampled *s, struct samples_thread *t, uint64_t first_ns, uint64_t last_ns)
{
    uint64_t gap = t->point_ns && first_ns + 1 > t->point_ns ? first_ns + 1 - t->point_ns : 0;
    unsigned bits = 2;
    t->point_ns = last_ns + 1;
    if (!gap)
        return;
    while (bits < 63 && gap >> (bits + 1))
        bits++;
    s->gaps[4 * bits + ((gap >> (bits - 2)) & 3)]++;
    s->gap_count++;
}

static uint16_t stack_flags(struct strobe_sampled_stack stack)
{
    return stack.cut ? STROBE_FLAG_CUT : 0;
}

bool strobe_sampled_point(struct strobe_sampled *s, const struct strobe_sampled_point *p)
{
    if (!times_fit(s, p->thread, p->first_ns, p->last_ns) || !p->count)
        return false;
    struct strobe_record r = {.ticks = p->first_ns,
                              .duration = p->last_ns - p->first_ns,
                              .stack = p->stack.id,
                              .thread = p->thread,
                              .message = p->message,
                              .count = p->count,
                              .kind = (uint8_t)p->kind,
                              .flags = (uint16_t)(p->flags | stack_flags(p->stack))};
    if (p->cpu_ns != STROBE_SAMPLED_CPU_UNKNOWN) {
        r.cpu_ns = p->cpu_ns;
        r.flags |= STROBE_FLAG_CPU;
        s->metrics |= STROBE_METRIC_CPU;
    }
    count_gap(s, &s->threads[p->thread], p->first_ns, p->last_ns);
    put_pending(s, &r, p->metrics);
    return true;
}

static uint64_t move_between(uint64_t time_ns, uint64_t low_ns, uint64_t high_ns)
{
    return time_ns < low_ns ? low_ns : time_ns > high_ns ? high_ns : time_ns;
}

static void add_wake(struct strobe_sampled *s, const struct strobe_sampled_wait *w)
{
    uint64_t release_ns = move_between(w->release_ns, w->begin_ns, w->end_ns);
    struct strobe_record r = {.ticks = release_ns,
                              .duration = w->end_ns - release_ns,
                              .arg = w->what,
                              .stack = w->woken.id,
                              .thread = w->thread,
                              .message = w->message,
                              .count = 1,
                              .cpu_span_ns = w->waker + 1,
                              .kind = STROBE_KIND_WAKE};
    put_pending(s, &r, NULL);
}

bool strobe_sampled_wait(struct strobe_sampled *s, const struct strobe_sampled_wait *w)
{
    if (!times_fit(s, w->thread, w->begin_ns, w->end_ns))
        return false;
    struct strobe_record r = {.ticks = w->begin_ns,
                              .duration = w->end_ns - w->begin_ns,
                              .arg = w->what,
                              .stack = w->stack.id,
                              .thread = w->thread,
                              .message = w->message,
                              .count = 1,
                              .kind = (uint8_t)w->kind,
                              .flags = (uint16_t)(STROBE_FLAG_SCOPE | stack_flags(w->stack))};
    if (w->end_cpu_ns != STROBE_SAMPLED_CPU_UNKNOWN && w->begin_cpu_ns <= w->end_cpu_ns) {
        uint64_t span = w->end_cpu_ns - w->begin_cpu_ns;
        r.cpu_ns = w->end_cpu_ns;
        r.cpu_span_ns = span < UINT32_MAX ? (uint32_t)span : UINT32_MAX;
        r.flags |= STROBE_FLAG_CPU | STROBE_FLAG_BEGIN_CPU;
        s->metrics |= STROBE_METRIC_CPU;
    }
    put_pending(s, &r, w->metrics);
    if (w->waker < s->thread_count)
        add_wake(s, w);
    return true;
}

bool strobe_sampled_section(struct strobe_sampled *s, uint32_t thread, struct strobe_cursor name, uint32_t depth,
                            uint64_t begin_ns, uint64_t end_ns)
{
    char text[STROBE_ANNOTATION_NAME_BYTES + 1] = {0};
    uint64_t words[STROBE_ANNOTATION_WORDS];
    size_t bytes = (size_t)(name.end - name.at);
    if (!times_fit(s, thread, begin_ns, end_ns) || !depth)
        return false;
    memcpy(text, name.at, bytes < sizeof text - 1 ? bytes : sizeof text - 1);
    uint32_t count = strobe_annotation_pack(text, words);
    struct strobe_record r = {.ticks = begin_ns,
                              .duration = end_ns > begin_ns ? end_ns - begin_ns : 1,
                              .arg = depth,
                              .stack = strobe_sampled_stack(s, words, count).id,
                              .thread = thread,
                              .count = 2, /* begin and end */
                              .cpu_span_ns = STROBE_ANNOTATION_BEGIN,
                              .kind = STROBE_KIND_ANNOTATION};
    put_pending(s, &r, NULL);
    return true;
}

/* ---- the session */

/* Returns the upper bound of the bucket that holds the median of the times between points; 0 = there are none. */
static uint64_t median_gap(const struct strobe_sampled *s)
{
    uint64_t seen = 0;
    for (unsigned i = 0; i < GAP_BUCKETS; i++) {
        seen += s->gaps[i];
        if (seen && seen * 2 >= s->gap_count)
            return ((uint64_t)(i % 4) + 5) << (i / 4 - 2);
    }
    return 0;
}

static uint64_t chosen_interval(const struct strobe_sampled *s)
{
    uint64_t most = (uint64_t)1 << INTERVAL_MAX_BITS, gap = s->interval_ns ? s->interval_ns : median_gap(s);
    return !gap ? 1000000 : gap < most ? gap : most;
}

/* Sets the sizes of a session for exactly what was added. Returns false if no session is large enough. A record with
 * metrics never spans two chunks of the ring, so each chunk may have an unused slot. */
static bool size_session(const struct strobe_sampled *s, uint32_t nodes, struct strobe_config *config)
{
    uint64_t slots = s->slots + s->slots / (STROBE_CHUNK_SLOTS - 1) + STROBE_CHUNK_SLOTS;
    uint64_t names =
        (s->names_bytes + 2 * STROBE_NAMES_BYTES_MIN - 1) / STROBE_NAMES_BYTES_MIN * STROBE_NAMES_BYTES_MIN;
    strobe_config_default(config);
    config->interval_main_ns = config->interval_other_ns = chosen_interval(s);
    config->async_interval_ns = s->tick_ns;
    config->scope_min_ns = 0;
    config->metrics = s->metrics;
    config->ring_slots = slots <= STROBE_RING_SLOTS_MAX ? (uint32_t)slots : 1;
    config->ring_subs = 1;
    config->ring_mode = STROBE_KEEP_OLDEST;
    config->stack_nodes = nodes ? nodes : 1;
    config->threads_max = s->thread_count ? (uint32_t)s->thread_count : 1;
    config->images_max = (uint32_t)s->image_count;
    config->names_bytes = names <= STROBE_NAMES_BYTES_MAX ? (uint32_t)names : STROBE_NAMES_BYTES_MIN;
    return slots <= STROBE_RING_SLOTS_MAX && names <= STROBE_NAMES_BYTES_MAX;
}

static enum strobe_status store_threads(const struct strobe_sampled *s, const struct strobe_session *to,
                                        uint64_t interval_ns)
{
    bool has_main = false;
    for (size_t i = 0; i < s->thread_count; i++) {
        const struct samples_thread *t = &s->threads[i];
        bool is_main = !has_main && t->tid == s->main_tid;
        uint64_t start_ns = t->seen ? t->first_ns : s->first_ns, end_ns = t->seen ? t->last_ns + interval_ns : start_ns;
        uint32_t index;
        enum strobe_status status = strobe_session_add_thread(to, t->tid, is_main, start_ns, &index);
        if (status != STROBE_OK)
            return status;
        struct strobe_thread_entry *e = &to->threads[index];
        has_main |= is_main;
        memcpy(e->name, t->name, sizeof e->name);
        if (t->ended && t->end_ns >= t->last_ns)
            end_ns = t->end_ns;
        e->end_ticks = end_ns ? end_ns : 1;
        strobe_store_release(&e->state, STROBE_THREAD_ENDED);
        for (unsigned k = 0; k < STROBE_KIND_COUNT; k++) {
            strobe_store_relaxed(&e->account[k].requests, t->samples[k]);
            strobe_store_relaxed(&e->account[k].sampled, t->samples[k]);
        }
    }
    return STROBE_OK;
}

/* No file has the build id of an image here, which is a hash of its functions' names. The names that the session itself
 * holds are therefore the only ones, and images of two sessions are one only if they have the same functions. */
static void store_image(const struct strobe_sampled *s, size_t i, struct strobe_image_entry *e)
{
    const struct samples_image *image = &s->images[i];
    const struct strobe_sampled_mapping *m = &image->mapping;
    const char *path = s->texts.texts[image->text];
    if (m->end) {
        e->start = m->start;
        e->end = m->end;
        e->bias = m->bias;
        e->build_id_bytes = m->build_id_bytes;
        memcpy(e->build_id, m->build_id, sizeof m->build_id);
    } else {
        e->start = image_start(i);
        e->end = e->start + FRAME_BYTES * ((uint64_t)image->functions + 1);
        e->bias = e->start;
        e->build_id_bytes = sizeof image->hash;
        memcpy(e->build_id, image->hash, sizeof image->hash);
    }
    e->path_cut = strlen(path) >= sizeof e->path;
    snprintf(e->path, sizeof e->path, "%s", path);
    strobe_store_release(&e->published, 1);
}

static enum strobe_status store_names(const struct strobe_sampled *s, const struct strobe_session *to)
{
    for (size_t i = 1; i < s->image_count; i++) {
        struct strobe_image_entry *e = strobe_session_add_image(to);
        if (!e)
            return STROBE_FULL;
        store_image(s, i, e);
    }
    for (size_t i = 0; i < s->function_count; i++) {
        const char *name = s->texts.texts[s->functions[i].text];
        enum strobe_status status = strobe_names_add(&to->names, s->functions[i].frame, name, strlen(name), 0);
        if (status != STROBE_OK)
            return status;
    }
    return STROBE_OK;
}

static enum strobe_status store_buffer(const struct pending *p, size_t count, const struct strobe_session *to,
                                       struct strobe_ring_writer *w)
{
    for (size_t i = 0; i < count; i++) {
        const struct strobe_metrics *metrics = p[i].record.flags & STROBE_FLAG_METRICS ? &p[i].metrics : NULL;
        enum strobe_status status = strobe_ring_write(&to->ring, w, &p[i].record, metrics);
        if (status != STROBE_OK)
            return status;
    }
    return STROBE_OK;
}

/* Copies the records to the ring. Records of the temporary file are read into the buffer, after those that are in
 * it. */
static enum strobe_status store_records(struct strobe_sampled *s, const struct strobe_session *to)
{
    struct strobe_ring_writer w = {0};
    strobe_ring_writer_init(&to->ring, &w, 0);
    enum strobe_status status = store_buffer(s->buffer, s->buffered, to, &w);
    s->buffered = 0;
    if (s->spool >= 0 && lseek(s->spool, 0, SEEK_SET) < 0)
        status = STROBE_IO;
    for (uint64_t left = s->spooled; left && status == STROBE_OK;) {
        size_t count = left < BUFFERED ? (size_t)left : BUFFERED;
        if (!spool_read(s->spool, s->buffer, count * sizeof *s->buffer))
            return STROBE_IO;
        status = store_buffer(s->buffer, count, to, &w);
        left -= count;
    }
    strobe_ring_writer_close(&to->ring, &w);
    return status;
}

static enum strobe_status fill_session(struct strobe_sampled *s, struct strobe_session *to)
{
    uint64_t interval_ns = to->header->config.interval_main_ns, begin_ns = s->samples ? s->first_ns : 0;
    enum strobe_status status = copy_stack_table(&s->stacks.table, &to->stacks);
    if (status == STROBE_OK)
        status = store_threads(s, to, interval_ns);
    if (status == STROBE_OK)
        status = store_names(s, to);
    if (status == STROBE_OK)
        status = store_records(s, to);
    if (status == STROBE_OK)
        status = strobe_session_begin(to, s->pid);
    to->header->ticks_per_second = 1000000000;
    to->header->begin = (struct strobe_clock_pair){begin_ns, begin_ns, begin_ns, 0};
    snprintf(to->header->exe, sizeof to->header->exe, "%s", s->command);
    /* Each tick is a wake-up of the other tool's sampler. */
    for (size_t i = 0; i < s->thread_count && s->tick_ns; i++)
        strobe_bump(&to->header->async_passes, s->threads[i].samples[STROBE_KIND_CPU]);
    uint64_t end_ns = (s->samples ? s->last_ns : 0) + interval_ns;
    struct strobe_clock_pair end = {end_ns, end_ns, end_ns, 0};
    if (status == STROBE_OK)
        strobe_session_finish(to, &end);
    return status;
}

/* Writes the session with a stack table of this size to a new file. */
static enum strobe_status make_session(struct strobe_sampled *s, uint32_t nodes, int *out)
{
    struct strobe_config config;
    struct strobe_session session;
    if (!size_session(s, nodes, &config))
        return STROBE_FULL;
    size_t bytes = (size_t)strobe_session_file_bytes(&config);
    int fd = open_nameless_file();
    if (fd < 0)
        return STROBE_IO;
    enum strobe_status status = strobe_reserve(fd, bytes);
    void *memory = status == STROBE_OK ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (memory == MAP_FAILED)
        status = STROBE_IO;
    if (status == STROBE_OK)
        status = strobe_session_create_at(memory, &config, s->command, &session);
    if (status == STROBE_OK)
        status = fill_session(s, &session);
    int error = errno;
    if (memory != MAP_FAILED)
        munmap(memory, bytes);
    if (status == STROBE_OK)
        *out = fd;
    else
        close(fd);
    errno = error;
    return status;
}

enum strobe_status strobe_sampled_make(struct strobe_sampled *s, int *fd)
{
    uint32_t nodes = strobe_stack_node_count(&s->stacks.table);
    errno = s->error;
    if (s->status != STROBE_OK)
        return s->status;
    if (s->buffered && s->spool >= 0) /* keeps the order of the file */
        empty_buffer(s);
    enum strobe_status status = s->status;
    if (status == STROBE_OK)
        status = make_session(s, nodes, fd);
    /* A table holds nearly as many nodes as its size says, not always all. */
    for (uint32_t more = nodes / 8 + 64; status == STROBE_NO_ENTRY && nodes < STROBE_STACK_NODES_MAX; more *= 2) {
        nodes = nodes < STROBE_STACK_NODES_MAX - more ? nodes + more : STROBE_STACK_NODES_MAX;
        status = make_session(s, nodes, fd);
    }
    return status == STROBE_NO_ENTRY ? STROBE_FULL : status;
}

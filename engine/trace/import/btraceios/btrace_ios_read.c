#include "engine/trace/import/btraceios/btrace_ios_read.h"
#include "engine/base/error_format.h"

#include "engine/trace/import/btraceios/btrace_ios.h"
#include "engine/util/array.h"
#include "engine/util/idmap.h"
#include "engine/util/text_pool.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 100, WORDS_MAX = 6, WALK_MAX = 4096, STEPS_BETWEEN = 1000, STEPS_LEAST = 20000 };
enum { LIVE_PID = 1, RELEASE_LATE_NS = 1000000, SAMPLER_NS = 1000000 };
#define PROGRAM_ADDRESS UINT64_C(0x100000000)

enum bi_table { BI_CPU, BI_INTERVAL, BI_MEMORY, BI_DATE, BI_DISPATCH, BI_LOCK, BI_TABLES };

/* Tables of samples. A sample is a row of numbers, in the order that it has in a node of the batch table. */
static const struct {
    const char *name, *batch;
    const char *columns; /* the thread, then the numbers; of a lock one blob */
    unsigned words;      /* u32 words of a node, without allocations */
    unsigned time, cpu, stack;
} bi_tables[BI_TABLES] = {
    [BI_CPU] = {"CPUSampleModel", "CPUBatchSampleModel", "tid, start_time, start_cpu_time, stack_id", 3, 0, 1, 2},
    [BI_INTERVAL] = {"CPUIntervalSampleModel", "CPUBatchIntervalSampleModel",
                     "tid, start_time, start_cpu_time, stack_id, end_time, end_cpu_time", 5, 0, 1, 2},
    [BI_MEMORY] = {"MemSampleModel", "MemBatchSampleModel", "tid, addr, size, time, cpu_time, stack_id", 5, 2, 3, 4},
    [BI_DATE] = {"DateSampleModel", "DateBatchSampleModel", "tid, time, cpu_time, stack_id", 3, 0, 1, 2},
    [BI_DISPATCH] = {"DispatchSampleModel", "DispatchBatchSampleModel",
                     "source_tid, source_time, source_cpu_time, target_tid, target_time, stack_id", 5, 0, 1, 4},
    [BI_LOCK] = {"LockSampleModel", "LockBatchSampleModel", "sample", 5, 2, 3, 4},
};

struct bi_sample {
    enum bi_table table;
    uint32_t tid;
    uint32_t word[WORDS_MAX]; /* of a lock: two words of its id and action; last its thread, when it is no batch */
};

struct bi_node {
    uint32_t parent;
    uint64_t address;
};

struct bi_image {
    uint64_t start, end;
    uint32_t path; /* of `texts` */
    uint8_t uuid[16];
    bool has_uuid;
};

struct bi_release {
    uint64_t lock, at_ns;
    uint32_t tid;
    struct strobe_sampled_stack stack;
    size_t order;
    bool matched;
};

/* The first row of a contention, whose second row is still missing. */
struct bi_contention {
    struct bi_sample sample;
    bool open;
};

struct bi {
    const struct strobe_btrace_ios_options *options;
    struct strobe_sampled *out;
    struct strobe_btrace_ios_stats *stats;
    sqlite3 *db;
    uint64_t steps, steps_most;
    int64_t trace; /* trace_id as it is stored */
    uint64_t tick_ns;
    int64_t main_tid;
    uint32_t lowest_tid;
    char bundle[256];

    struct strobe_text_pool texts;
    struct bi_image *images;
    size_t image_count, image_room;
    struct bi_node *nodes;
    size_t node_count, node_room;
    struct strobe_idmap node_of; /* id -> node */
    struct strobe_sampled_stack *stacks;
    size_t stack_count, stack_room;
    struct strobe_idmap stack_of; /* (id, taken by the sampler) -> stack */

    struct bi_release *releases; /* by lock, then by time */
    size_t release_count, release_room;
    struct bi_contention *contentions; /* by number of samples_store.h */
    size_t contention_room;
    bool failed;
};

/* ---- queries */

static int count_bi_steps(void *ctx)
{
    struct bi *r = ctx;
    r->steps += STEPS_BETWEEN;
    return r->steps > r->steps_most;
}

/* Prepares a query whose first parameter is the trace. NULL: the table is missing or has other columns. */
static sqlite3_stmt *prepare_bi(struct bi *r, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    r->steps = 0;
    int code = sqlite3_prepare_v2(r->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK && sqlite3_bind_parameter_count(statement))
        code = sqlite3_bind_int64(statement, 1, r->trace);
    if (code == SQLITE_OK)
        return statement;
    sqlite3_finalize(statement);
    r->failed |= code == SQLITE_NOMEM;
    r->stats->damaged_tables += code != SQLITE_NOMEM;
    return NULL;
}

/* Moves to the next row. Returns false at the end, of the readable rows too. */
static bool next_bi_row(struct bi *r, sqlite3_stmt *statement)
{
    int code = r->failed ? SQLITE_DONE : sqlite3_step(statement);
    if (code == SQLITE_ROW)
        return true;
    r->failed |= code == SQLITE_NOMEM;
    r->stats->damaged_tables += code != SQLITE_DONE && code != SQLITE_NOMEM;
    return false;
}

/* Returns whether the database has a table of this name, and no view or virtual table. */
static bool has_bi_table(struct bi *r, const char *name)
{
    sqlite3_stmt *statement = NULL;
    bool found = false;
    r->steps = 0;
    if (sqlite3_prepare_v2(r->db, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND rootpage > 0", -1,
                           &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC) == SQLITE_OK)
        found = sqlite3_step(statement) == SQLITE_ROW;
    r->failed |= sqlite3_errcode(r->db) == SQLITE_NOMEM;
    sqlite3_finalize(statement);
    return found && !r->failed;
}

/* Prepares a query for columns of the rows of the trace. NULL: there are none. */
static sqlite3_stmt *select_bi(struct bi *r, const char *columns, const char *table)
{
    char sql[256];
    if (r->failed || !has_bi_table(r, table))
        return NULL;
    snprintf(sql, sizeof sql, "SELECT %s FROM %s WHERE trace_id = ?1", columns, table);
    return prepare_bi(r, sql);
}

static bool take_bi_number(sqlite3_stmt *row, int column, uint32_t *out)
{
    sqlite3_int64 value = sqlite3_column_int64(row, column);
    if (sqlite3_column_type(row, column) != SQLITE_INTEGER || value < 0 || value > UINT32_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

/* ---- images and stacks */

static bool take_bi_uuid(const char *text, uint8_t out[16])
{
    unsigned digits = 0;
    for (; text && *text; text++) {
        const char *all = "0123456789abcdef", *digit = strchr(all, *text | 32);
        if (*text == '-')
            continue;
        if (!digit || digits == 32)
            return false;
        out[digits / 2] = (uint8_t)(out[digits / 2] << 4 | (uint8_t)(digit - all));
        digits++;
    }
    return digits == 32;
}

static int compare_bi_images(const void *a, const void *b)
{
    const struct bi_image *x = a, *y = b;
    return x->start != y->start ? (x->start < y->start ? -1 : 1) : x->path < y->path ? -1 : x->path > y->path;
}

/* True for the path of a program: a file directly in a directory *.app. */
static bool is_bi_program(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash - path > 4 && !memcmp(slash - 4, ".app", 4);
}

static void take_bi_image(struct bi *r, sqlite3_stmt *row)
{
    const char *name = (const char *)sqlite3_column_text(row, 2);
    uint64_t start = (uint64_t)sqlite3_column_int64(row, 0), bytes = (uint64_t)sqlite3_column_int64(row, 1);
    if (!name || !bytes || start > UINT64_MAX - bytes) {
        r->stats->damaged++;
        return;
    }
    uint32_t path = strobe_text_number(&r->texts, name, strlen(name));
    if (path == UINT32_MAX || !strobe_array_reserve(&r->images, &r->image_room, r->image_count + 1)) {
        r->failed = true;
        return;
    }
    struct bi_image *i = &r->images[r->image_count++];
    *i = (struct bi_image){.start = start, .end = start + bytes, .path = path};
    i->has_uuid = take_bi_uuid((const char *)sqlite3_column_text(row, 3), i->uuid);
}

/* Adds the images, each up to the begin of the next one: images that were unloaded may overlap others. */
static void read_bi_images(struct bi *r)
{
    sqlite3_stmt *row = select_bi(r, "address, len, name, uuid", "ImageInfoModel");
    while (row && next_bi_row(r, row))
        take_bi_image(r, row);
    sqlite3_finalize(row);
    if (r->image_count)
        qsort(r->images, r->image_count, sizeof *r->images, compare_bi_images);
    for (size_t i = 0; i < r->image_count && !r->failed; i++) {
        const struct bi_image *image = &r->images[i];
        const char *path = r->texts.texts[image->path];
        uint64_t end = i + 1 < r->image_count && image[1].start < image->end ? image[1].start : image->end;
        uint64_t linked = is_bi_program(path) && image->start >= PROGRAM_ADDRESS ? PROGRAM_ADDRESS : 0;
        struct strobe_sampled_mapping m = {.start = image->start, .end = end, .bias = image->start - linked};
        m.build_id_bytes = image->has_uuid ? sizeof m.build_id : 0;
        memcpy(m.build_id, image->uuid, sizeof m.build_id);
        strobe_sampled_map(r->out, path, strlen(path), &m);
        r->stats->images++;
    }
}

static void take_bi_nodes(struct bi *r, const uint8_t *at, size_t bytes)
{
    size_t count = bytes / STROBE_BTRACE_IOS_NODE_BYTES;
    if (!count || !strobe_array_reserve(&r->nodes, &r->node_room, r->node_count + count)) {
        r->failed |= count != 0;
        return;
    }
    for (; count && !r->failed; count--, at += STROBE_BTRACE_IOS_NODE_BYTES) {
        uint32_t id;
        int fresh;
        struct bi_node node;
        memcpy(&id, at, 4);
        memcpy(&node.parent, at + 4, 4);
        memcpy(&node.address, at + 8, 8);
        uint32_t *place = strobe_idmap_put(&r->node_of, id, 0, &fresh);
        if (!place) {
            r->failed = true;
            return;
        }
        *place = (uint32_t)r->node_count;
        r->nodes[r->node_count++] = node;
    }
}

static void read_bi_nodes(struct bi *r)
{
    sqlite3_stmt *row = select_bi(r, "nodes", "CallStackTableModel");
    while (row && next_bi_row(r, row)) {
        const void *blob = sqlite3_column_blob(row, 0);
        size_t bytes = (size_t)sqlite3_column_bytes(row, 0);
        r->stats->damaged += !blob || bytes % STROBE_BTRACE_IOS_NODE_BYTES;
        if (blob)
            take_bi_nodes(r, blob, bytes);
    }
    sqlite3_finalize(row);
    r->stats->nodes = r->node_count;
}

/* Makes the stack of a node. The sampler's innermost address is that of the next instruction to run; others are return
 * addresses. Returns the empty stack when a node is missing or the walk does not end. */
static struct strobe_sampled_stack make_bi_stack(struct bi *r, uint32_t id, bool of_sampler)
{
    uint64_t inner[WALK_MAX], outer[WALK_MAX];
    size_t count = 0;
    while (id && count < WALK_MAX) {
        const uint32_t *node = strobe_idmap_get(&r->node_of, id, 0);
        if (!node)
            break;
        inner[count] = r->nodes[*node].address + (of_sampler && !count);
        count += r->nodes[*node].address != 0;
        id = r->nodes[*node].parent;
    }
    if (id || !count)
        return (struct strobe_sampled_stack){0};
    for (size_t i = 0; i < count; i++)
        outer[i] = inner[count - 1 - i];
    return strobe_sampled_stack(r->out, outer, count);
}

static struct strobe_sampled_stack bi_stack(struct bi *r, uint32_t id, bool of_sampler)
{
    int fresh = 0;
    uint32_t *place = strobe_array_reserve(&r->stacks, &r->stack_room, r->stack_count + 1)
                          ? strobe_idmap_put(&r->stack_of, id, of_sampler, &fresh)
                          : NULL;
    if (!place) {
        r->failed = true;
        return (struct strobe_sampled_stack){0};
    }
    if (fresh) {
        *place = (uint32_t)r->stack_count++;
        r->stacks[*place] = make_bi_stack(r, id, of_sampler);
    }
    r->stats->stackless += !r->stacks[*place].id;
    return r->stacks[*place];
}

/* ---- samples */

static uint64_t bi_ns(const struct bi *r, uint32_t ticks)
{
    return ticks * r->tick_ns;
}

static uint64_t bi_cpu(const struct bi *r, uint32_t ticks)
{
    return ticks ? ticks * r->tick_ns : STROBE_SAMPLED_CPU_UNKNOWN;
}

static uint64_t bi_lock(const struct bi_sample *s)
{
    return (s->word[0] | (uint64_t)s->word[1] << 32) & ((UINT64_C(1) << STROBE_BTRACE_IOS_LOCK_BITS) - 1);
}

static unsigned bi_action(const struct bi_sample *s)
{
    return s->word[1] >> 16;
}

static bool is_bi_contention(unsigned action)
{
    return action == STROBE_BTRACE_IOS_MUTEX_CONTENTION || action == STROBE_BTRACE_IOS_READ_CONTENTION ||
           action == STROBE_BTRACE_IOS_WRITE_CONTENTION || action == STROBE_BTRACE_IOS_UNFAIR_CONTENTION;
}

static bool is_bi_release(unsigned action)
{
    return action == STROBE_BTRACE_IOS_MUTEX_RELEASE || action == STROBE_BTRACE_IOS_RW_RELEASE ||
           action == STROBE_BTRACE_IOS_UNFAIR_RELEASE;
}

static enum strobe_kind kind_of_bi_lock(unsigned action)
{
    if (is_bi_release(action))
        return STROBE_KIND_UNLOCK;
    switch (action) {
    case STROBE_BTRACE_IOS_MUTEX_UNLOCK:
    case STROBE_BTRACE_IOS_COND_SIGNAL:
    case STROBE_BTRACE_IOS_COND_BROADCAST:
    case STROBE_BTRACE_IOS_RW_UNLOCK:
    case STROBE_BTRACE_IOS_UNFAIR_UNLOCK: return STROBE_KIND_UNLOCK;
    case STROBE_BTRACE_IOS_COND_WAIT:
    case STROBE_BTRACE_IOS_COND_WAIT + 1: return STROBE_KIND_COND;
    default: break;
    }
    bool rw = (action > STROBE_BTRACE_IOS_COND_BROADCAST && action < STROBE_BTRACE_IOS_RW_UNLOCK) ||
              action == STROBE_BTRACE_IOS_READ_CONTENTION || action == STROBE_BTRACE_IOS_WRITE_CONTENTION;
    return rw ? STROBE_KIND_RWLOCK : STROBE_KIND_MUTEX;
}

static enum strobe_kind kind_of_bi_sample(const struct bi_sample *s)
{
    switch (s->table) {
    case BI_MEMORY: return s->word[1] ? STROBE_KIND_ALLOC : STROBE_KIND_FREE;
    case BI_DATE: return STROBE_KIND_CLOCK;
    case BI_DISPATCH: return STROBE_KIND_UNLOCK;
    case BI_LOCK: return kind_of_bi_lock(bi_action(s));
    default: return STROBE_KIND_ASYNC;
    }
}

static void add_bi_point(struct bi *r, const struct bi_sample *s)
{
    bool of_sampler = s->table == BI_CPU || s->table == BI_INTERVAL;
    uint64_t first_ns = bi_ns(r, s->word[bi_tables[s->table].time]);
    uint32_t cpu = s->word[bi_tables[s->table].cpu];
    struct strobe_sampled_point p = {.first_ns = first_ns,
                                     .last_ns = first_ns,
                                     .stack = bi_stack(r, s->word[bi_tables[s->table].stack], of_sampler),
                                     .thread = strobe_sampled_thread(r->out, s->tid),
                                     .count = 1,
                                     .kind = kind_of_bi_sample(s)};
    if (s->table == BI_INTERVAL && bi_ns(r, s->word[3]) > first_ns) {
        p.last_ns = bi_ns(r, s->word[3]);
        p.count = (uint32_t)((p.last_ns - first_ns) / SAMPLER_NS) + 1;
        p.count = p.count < 2 ? 2 : p.count;
        cpu = s->word[4];
    } else if (s->table == BI_INTERVAL && s->word[3] < s->word[0]) {
        r->stats->backwards++;
    }
    p.cpu_ns = bi_cpu(r, cpu);
    r->stats->damaged += !strobe_sampled_point(r->out, &p);
}

/* Returns the last release of the lock that can have ended a wait, or NULL. It is written after the release, so its
 * time may be that of the wait's end or a little later. */
static struct bi_release *bi_release_of(struct bi *r, uint64_t lock, uint64_t begin_ns, uint64_t end_ns, uint32_t tid)
{
    size_t low = 0, high = r->release_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct bi_release *l = &r->releases[middle];
        if (l->lock < lock || (l->lock == lock && l->at_ns <= end_ns + RELEASE_LATE_NS))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low && r->releases[low - 1].lock == lock && r->releases[low - 1].at_ns >= begin_ns; low--)
        if (!r->releases[low - 1].matched && r->releases[low - 1].tid != tid)
            return &r->releases[low - 1];
    return NULL;
}

/* Adds a contention as a wait: `s` has its begin. */
static void add_bi_wait(struct bi *r, const struct bi_sample *s, uint64_t end_ns)
{
    struct strobe_sampled_wait w = {.begin_ns = bi_ns(r, s->word[2]),
                                    .end_ns = end_ns,
                                    .begin_cpu_ns = STROBE_SAMPLED_CPU_UNKNOWN,
                                    .end_cpu_ns = STROBE_SAMPLED_CPU_UNKNOWN,
                                    .what = bi_lock(s),
                                    .stack = bi_stack(r, s->word[4], false),
                                    .thread = strobe_sampled_thread(r->out, s->tid),
                                    .kind = kind_of_bi_lock(bi_action(s)),
                                    .waker = STROBE_SAMPLED_NO_THREAD};
    struct bi_release *release = bi_release_of(r, w.what, w.begin_ns, end_ns, s->tid);
    if (release) {
        release->matched = true;
        w.waker = strobe_sampled_thread(r->out, release->tid);
        w.release_ns = release->at_ns;
        w.woken = release->stack;
        r->stats->wakers++;
    }
    r->stats->waits++;
    r->stats->damaged += !strobe_sampled_wait(r->out, &w);
}

/* Pairs the two rows of a contention. A row without its pair is a point. */
static void add_bi_contention(struct bi *r, const struct bi_sample *s)
{
    uint32_t thread = strobe_sampled_thread(r->out, s->tid);
    if (thread == STROBE_SAMPLED_NO_THREAD ||
        !strobe_array_reserve_zeroed(&r->contentions, &r->contention_room, (size_t)thread + 1)) {
        r->failed = true;
        return;
    }
    struct bi_contention *c = &r->contentions[thread];
    const uint32_t *first = c->sample.word;
    if (c->open && first[0] == s->word[0] && first[1] == s->word[1] && first[3] == s->word[3] &&
        first[4] == s->word[4] && first[2] >= s->word[2]) {
        add_bi_wait(r, s, bi_ns(r, first[2]));
        c->open = false;
        return;
    }
    if (c->open) {
        add_bi_point(r, &c->sample);
        r->stats->unpaired++;
    }
    *c = (struct bi_contention){*s, true};
}

static void add_bi_sample(struct bi *r, const struct bi_sample *s)
{
    r->stats->rows++;
    r->lowest_tid = s->tid < r->lowest_tid ? s->tid : r->lowest_tid;
    if (s->table == BI_LOCK && is_bi_contention(bi_action(s)))
        add_bi_contention(r, s);
    else
        add_bi_point(r, s);
}

static void collect_bi_release(struct bi *r, const struct bi_sample *s)
{
    if (!is_bi_release(bi_action(s)))
        return;
    if (!strobe_array_reserve(&r->releases, &r->release_room, r->release_count + 1)) {
        r->failed = true;
        return;
    }
    r->releases[r->release_count] = (struct bi_release){.lock = bi_lock(s),
                                                        .at_ns = bi_ns(r, s->word[2]),
                                                        .tid = s->tid,
                                                        .stack = bi_stack(r, s->word[4], false),
                                                        .order = r->release_count};
    r->release_count++;
}

static int compare_bi_releases(const void *a, const void *b)
{
    const struct bi_release *x = a, *y = b;
    if (x->lock != y->lock)
        return x->lock < y->lock ? -1 : 1;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* ---- tables of samples */

typedef void bi_take(struct bi *r, const struct bi_sample *s);

/* Takes a sample whose numbers are columns. */
static void take_bi_columns(struct bi *r, enum bi_table table, sqlite3_stmt *row, bi_take *take)
{
    struct bi_sample s = {.table = table};
    bool whole = take_bi_number(row, 0, &s.tid);
    for (unsigned i = 0; i < bi_tables[table].words && whole; i++)
        whole = take_bi_number(row, (int)i + 1, &s.word[i]);
    if (whole)
        take(r, &s);
    else
        r->stats->damaged++;
}

/* Takes the nodes of a blob, of `words` u32 words each and those of allocations. Without a thread, it is the last word.
 */
static void take_bi_blob(struct bi *r, enum bi_table table, sqlite3_stmt *row, int column, unsigned words,
                         bi_take *take)
{
    struct bi_sample s = {.table = table};
    const uint8_t *at = sqlite3_column_blob(row, column);
    size_t bytes = (size_t)sqlite3_column_bytes(row, column), all = 4 * (words + (r->stats->version >= 2 ? 2 : 0));
    if (!at || sqlite3_column_type(row, column) != SQLITE_BLOB || (column && !take_bi_number(row, 0, &s.tid))) {
        r->stats->damaged++;
        return;
    }
    r->stats->damaged += bytes % all != 0;
    for (; bytes >= all && !r->failed; bytes -= all, at += all) {
        memcpy(s.word, at, 4 * (size_t)words);
        if (!column)
            s.tid = s.word[words - 1];
        take(r, &s);
    }
}

static void read_bi_table(struct bi *r, enum bi_table table, bi_take *take)
{
    sqlite3_stmt *row = select_bi(r, bi_tables[table].columns, bi_tables[table].name);
    while (row && next_bi_row(r, row)) {
        if (table == BI_LOCK)
            take_bi_blob(r, table, row, 0, bi_tables[table].words + 1, take);
        else
            take_bi_columns(r, table, row, take);
    }
    sqlite3_finalize(row);
    row = select_bi(r, "tid, nodes", bi_tables[table].batch);
    while (row && next_bi_row(r, row))
        take_bi_blob(r, table, row, 1, bi_tables[table].words, take);
    sqlite3_finalize(row);
}

static void read_bi_samples(struct bi *r)
{
    struct strobe_btrace_ios_stats before = *r->stats;
    read_bi_table(r, BI_LOCK, collect_bi_release);
    *r->stats = before; /* the second time counts */
    if (r->release_count)
        qsort(r->releases, r->release_count, sizeof *r->releases, compare_bi_releases);
    for (unsigned table = 0; table < BI_TABLES && !r->failed; table++)
        read_bi_table(r, (enum bi_table)table, add_bi_sample);
    for (size_t i = 0; i < r->contention_room && !r->failed; i++)
        if (r->contentions[i].open) {
            add_bi_point(r, &r->contentions[i].sample);
            r->stats->unpaired++;
        }
    for (size_t i = 0; i < r->release_count; i++)
        r->stats->releases_lost += !r->releases[i].matched;
}

/* ---- the database */

static void read_bi_threads(struct bi *r)
{
    sqlite3_stmt *row = select_bi(r, "tid, name", "ThreadInfoModel");
    while (row && next_bi_row(r, row)) {
        uint32_t tid;
        const char *name = (const char *)sqlite3_column_text(row, 1);
        if (take_bi_number(row, 0, &tid) && name && *name)
            strobe_sampled_rename(r->out, strobe_sampled_thread(r->out, tid), name, strlen(name));
    }
    sqlite3_finalize(row);
}

/* Finds the trace, and what is known of it. */
static enum strobe_status select_bi_trace(struct bi *r, struct strobe_error *error)
{
    static const char table[] = "BTraceModel";
    bool found = false;
    sqlite3_stmt *row =
        has_bi_table(r, table) ? prepare_bi(r, "SELECT trace_id, version, main_tid, bundle_id FROM BTraceModel") : NULL;
    while (row && next_bi_row(r, row)) {
        sqlite3_int64 trace = sqlite3_column_int64(row, 0), version = sqlite3_column_int64(row, 1);
        const char *bundle = (const char *)sqlite3_column_text(row, 3);
        r->stats->traces++;
        if (r->options->trace != STROBE_BTRACE_IOS_LAST_TRACE && (uint8_t)trace != (uint8_t)r->options->trace)
            continue;
        found = true;
        r->trace = trace;
        r->stats->trace = (uint8_t)trace;
        r->stats->version = version >= 0 && version <= INT32_MAX ? (uint32_t)version : UINT32_MAX;
        r->main_tid = sqlite3_column_int64(row, 2);
        snprintf(r->bundle, sizeof r->bundle, "%s", bundle ? bundle : "");
    }
    sqlite3_finalize(row);
    if (r->failed)
        return STROBE_IO;
    if (!found && r->stats->traces) {
        strobe_error_set(error, "trace %d is not in the database, which has %llu", (int)r->options->trace,
                         (unsigned long long)r->stats->traces);
        return STROBE_BAD_INPUT;
    }
    if (!found) {
        strobe_error_set(error, "expected a database of btrace 3.0 for iOS, with a row in its table BTraceModel");
        return STROBE_BAD_INPUT;
    }
    if (r->stats->version < 1 || r->stats->version > STROBE_BTRACE_IOS_VERSION_MAX) {
        strobe_error_set(error, "table BTraceModel: version %u, expected 1 to %d", (unsigned)r->stats->version,
                         STROBE_BTRACE_IOS_VERSION_MAX);
        return STROBE_BAD_VERSION;
    }
    r->tick_ns = r->stats->version >= 3 ? 10000 : 1000;
    return STROBE_OK;
}

/* Makes the header that of a database without a write-ahead log, and, when the file is cut off, of as many pages as it
 * has: SQLite would refuse it (https://www.sqlite.org/fileformat2.html, section 1.3). */
static void mend_bi_header(uint8_t *copy, size_t bytes)
{
    enum { WAL = 2, VERSIONS = 18, PAGE = 16, PAGES = 28 };
    size_t page = (size_t)copy[PAGE] << 8 | copy[PAGE + 1], pages = 0;
    page = page == 1 ? 65536 : page;
    for (unsigned i = 0; i < 4; i++)
        pages = pages << 8 | copy[PAGES + i];
    if (copy[VERSIONS] == WAL)
        copy[VERSIONS] = copy[VERSIONS + 1] = 1;
    if (page && pages > bytes / page)
        for (unsigned i = 0; i < 4; i++)
            copy[PAGES + i] = (uint8_t)(bytes / page >> (24 - 8 * i));
}

/* Opens the copy of the file. Views, triggers and functions of an untrusted schema are off. */
static bool open_bi(struct bi *r, uint8_t *copy, size_t bytes)
{
    if (sqlite3_open_v2(":memory:", &r->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return false;
    mend_bi_header(copy, bytes);
    sqlite3_db_config(r->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(r->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(r->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(r->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_limit(r->db, SQLITE_LIMIT_LENGTH, bytes < INT_MAX / 2 ? (int)bytes + (1 << 16) : INT_MAX);
    r->steps_most = STEPS_LEAST + 16 * (uint64_t)bytes;
    sqlite3_progress_handler(r->db, STEPS_BETWEEN, count_bi_steps, r);
    return sqlite3_deserialize(r->db, "main", copy, (sqlite3_int64)bytes, (sqlite3_int64)bytes,
                               SQLITE_DESERIALIZE_READONLY) == SQLITE_OK;
}

static enum strobe_status read_bi(struct bi *r, uint8_t *copy, size_t bytes, struct strobe_error *error)
{
    if (!open_bi(r, copy, bytes))
        return STROBE_IO;
    enum strobe_status status = select_bi_trace(r, error);
    if (status != STROBE_OK)
        return status;
    r->lowest_tid = UINT32_MAX;
    read_bi_images(r);
    read_bi_nodes(r);
    read_bi_samples(r);
    read_bi_threads(r);
    bool known = r->main_tid > 0 && r->main_tid <= UINT32_MAX;
    strobe_sampled_process(r->out, LIVE_PID, known ? (uint32_t)r->main_tid : r->lowest_tid, r->bundle);
    return r->failed ? STROBE_IO : STROBE_OK;
}

enum strobe_status strobe_btrace_ios_read(const void *file, size_t bytes,
                                          const struct strobe_btrace_ios_options *options, struct strobe_sampled *out,
                                          struct strobe_btrace_ios_stats *stats, struct strobe_error *error)
{
    static const char magic[16] = "SQLite format 3";
    *stats = (struct strobe_btrace_ios_stats){0};
    if (bytes < HEADER_BYTES || memcmp(file, magic, sizeof magic) != 0) {
        strobe_error_set(error, "byte 0: expected the header of an SQLite database, %d bytes", HEADER_BYTES);
        return STROBE_BAD_INPUT;
    }
    struct bi r = {.options = options, .out = out, .stats = stats};
    uint8_t *copy = malloc(bytes);
    if (copy)
        memcpy(copy, file, bytes);
    enum strobe_status status = copy ? read_bi(&r, copy, bytes, error) : STROBE_IO;
    sqlite3_close(r.db);
    strobe_text_pool_free(&r.texts);
    strobe_idmap_free(&r.node_of);
    strobe_idmap_free(&r.stack_of);
    free(r.images);
    free(r.nodes);
    free(r.stacks);
    free(r.releases);
    free(r.contentions);
    free(copy);
    return status;
}

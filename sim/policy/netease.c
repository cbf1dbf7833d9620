/* NetEase Cloud Music's native stack capture: a separate thread suspends the app's threads by their ids, one after the
 * other. It stores the pointers to their managed methods in a fixed ring that overwrites the oldest entries, and
 * resumes them. Afterwards the pointers still in the ring are resolved to names; the engine's rules for samples build
 * the trace.
 *
 * A pointer is the address of a method's structure; structures are 16 bytes apart in scenario order. A pointer to no
 * structure, or into an image that was not loaded, is stale and gets a placeholder. */
#include "engine/base/error_format.h"
#include "engine/method/netease/netease_ring.h"
#include "engine/trace/build/timeline.h"
#include "sim/policy/btrace.h"
#include "sim/policy/policy.h"
#include "sim/policy/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD_NS      UINT64_C(10000000)
#define ORIGIN_NS      UINT64_C(1000000000)
#define STOP_WITHIN_NS UINT64_C(1000000000)
#define METHODS        UINT64_C(0x10000000) /* address of the first method's structure */
#define WAITS          UINT64_C(0x8000000)  /* the same for the runtime's native methods that wait, by kind */

enum { FRAMES = 256, CAPACITY = 8192, METHOD_BYTES = 16 };

struct netease {
    struct sim_tracer tracer;
    struct sim_run *run;
    struct sim_costs costs;
    struct strobe_netease_ring ring;
    void *memory;
    uint64_t not_stopped, kept_bytes;
    struct strobe_session session;
    char path[STROBE_PATH_BYTES];
    struct strobe_reader *reader;
};

static struct netease *netease_of(struct sim_tracer *t)
{
    return (struct netease *)t;
}

/* ---- capture ---- */

static bool netease_is_managed(const struct netease *n, uint32_t method)
{
    return method < n->run->scenario->method_count && n->run->scenario->methods[method].managed;
}

/* True for waits in native methods of the runtime's libraries. Waits inside the runtime itself are not. */
static bool is_native_method(enum strobe_kind kind)
{
    return kind != STROBE_KIND_NONE && kind != STROBE_KIND_MONITOR && kind != STROBE_KIND_GC;
}

/* Returns the method of a frame on the managed stack: a managed method, or a native one called from there. 0: none. */
static uint64_t pointer_of(const struct netease *n, const struct sim_vthread *v, uint32_t frame)
{
    uint32_t method = v->frames[frame].method, caller = frame;
    bool waits = method >= n->run->scenario->method_count;
    if (waits && !is_native_method(sim_wait_kind(method)))
        return 0;
    while (caller && v->frames[caller - 1].method == SIM_HOOK_METHOD)
        caller--;
    if (!netease_is_managed(n, method) && (!caller || !netease_is_managed(n, v->frames[caller - 1].method)))
        return 0;
    return waits ? WAITS + (uint64_t)sim_wait_kind(method) * METHOD_BYTES : METHODS + (uint64_t)method * METHOD_BYTES;
}

static void capture(struct netease *n, struct sim_vthread *v)
{
    uint64_t frames[FRAMES], number;
    uint32_t count = 0;
    bool cut = false;
    sim_charge((uint64_t)(n->costs.look + n->costs.suspend + 0.5));
    if (sim_stop(v->thread, SIM_STOP_AT_ONCE, STOP_WITHIN_NS) != STROBE_OK) {
        n->not_stopped++;
        return;
    }
    /* The innermost frames that fit an entry, written outermost first. */
    for (uint32_t i = v->frame_count; i-- > 0 && !cut;) {
        uint64_t pointer = pointer_of(n, v, i);
        if (pointer && count == FRAMES)
            cut = true;
        else if (pointer)
            frames[count++] = pointer;
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        uint64_t swap = frames[i];
        frames[i] = frames[count - 1 - i];
        frames[count - 1 - i] = swap;
    }
    struct strobe_netease_capture c = {.ticks = ORIGIN_NS + sim_now(), .tid = v->tid, .cut = cut};
    sim_compute((uint64_t)(count * n->costs.frame + 0.5));
    sim_continue(v->thread);
    sim_charge((uint64_t)(n->costs.resume + n->costs.clock + n->costs.sample + 0.5));
    if (count)
        strobe_netease_ring_put(&n->ring, &c, frames, count, &number);
}

static void netease_sampler_main(void *arg)
{
    struct netease *n = arg;
    for (uint64_t due_ns = PERIOD_NS;; due_ns += PERIOD_NS) {
        sim_sleep_until(due_ns);
        for (uint32_t i = 0; i < n->run->thread_count; i++)
            if (!n->run->threads[i]->ended)
                capture(n, n->run->threads[i]);
    }
}

static enum strobe_status netease_start(struct sim_tracer *t, struct sim_run *run)
{
    struct netease *n = netease_of(t);
    size_t bytes = strobe_netease_ring_bytes(CAPACITY, FRAMES);
    struct sim_thread_options options = {
        .name = "netease sampler", .tid = SIM_SAMPLER_TID, .daemon = true, .entry = netease_sampler_main, .arg = n};
    n->run = run;
    n->costs = run->options.costs;
    n->memory = calloc(1, bytes);
    if (!n->memory)
        return STROBE_IO;
    strobe_netease_ring_create(n->memory, CAPACITY, FRAMES);
    enum strobe_status status = strobe_netease_ring_open(n->memory, bytes, &n->ring);
    n->tracer.sampler = sim_thread_start(run->kernel, &options);
    return n->tracer.sampler ? status : STROBE_IO;
}

/* ---- the ring as a session ---- */

static struct strobe_config netease_plan_config(const struct netease *n)
{
    struct strobe_config c = n->run->scenario->config;
    c.interval_main_ns = c.interval_other_ns = c.async_interval_ns = PERIOD_NS;
    c.ring_subs = 1;
    c.ring_mode = STROBE_KEEP_OLDEST;
    c.ring_slots = 2 * CAPACITY;
    c.stack_nodes = 1 << 18;
    c.threads_max = n->run->thread_count ? n->run->thread_count : 1;
    c.images_max = 1;
    return c;
}

static bool netease_add_threads(struct netease *n)
{
    for (uint32_t i = 0; i < n->run->thread_count; i++) {
        const struct sim_track *t = &n->run->truth.tracks[i];
        uint32_t index;
        if (strobe_session_add_thread(&n->session, t->tid, t->is_main, ORIGIN_NS + t->begin_ns, &index) != STROBE_OK)
            return false;
        n->session.threads[index].end_ticks = ORIGIN_NS + t->end_ns;
        memcpy(n->session.threads[index].name, t->name, sizeof t->name);
        strobe_store_release(&n->session.threads[index].state, STROBE_THREAD_ENDED);
    }
    return true;
}

/* Returns the session's thread of a capture. Threads that reused an id are distinguished by their lifetimes.
 * UINT32_MAX: no thread lived then. */
static uint32_t netease_thread_of(const struct netease *n, const struct strobe_netease_capture *c)
{
    for (uint32_t i = 0; i < n->run->thread_count; i++) {
        const struct sim_track *t = &n->run->truth.tracks[i];
        if (t->tid == c->tid && c->ticks >= ORIGIN_NS + t->begin_ns && c->ticks <= ORIGIN_NS + t->end_ns)
            return i;
    }
    return UINT32_MAX;
}

static bool add_capture(struct netease *n, struct strobe_ring_writer *w, struct strobe_stack_cursor *cursor,
                        const struct strobe_netease_capture *c, const uint64_t *frames)
{
    struct strobe_record r = {.ticks = c->ticks,
                              .thread = netease_thread_of(n, c),
                              .kind = STROBE_KIND_ASYNC,
                              .count = 1,
                              .flags = c->cut ? STROBE_FLAG_CUT : 0};
    uint32_t count = c->count < STROBE_STACK_DEPTH_MAX ? c->count : STROBE_STACK_DEPTH_MAX;
    if (r.thread == UINT32_MAX)
        return true;
    if (strobe_stack_intern(&n->session.stacks, cursor, frames + (c->count - count), count, &r.stack) == STROBE_FULL)
        r.flags |= STROBE_FLAG_TABLE_FULL;
    struct strobe_account *a = &n->session.threads[r.thread].account[STROBE_KIND_ASYNC];
    strobe_bump(&a->requests, 1);
    strobe_bump(&a->sampled, 1);
    return strobe_ring_write(&n->session.ring, w, &r, NULL) == STROBE_OK;
}

/* Fills the session with the captures, oldest first. */
static bool netease_fill_session(struct netease *n)
{
    struct strobe_stack_cursor *cursor = calloc(1, sizeof *cursor);
    struct strobe_ring_writer w = {0};
    struct strobe_session_header *h = n->session.header;
    uint64_t frames[FRAMES], drawn = strobe_netease_ring_drawn(&n->ring), end = ORIGIN_NS + n->run->end_ns;
    h->pid = 1;
    h->begin = (struct strobe_clock_pair){ORIGIN_NS, ORIGIN_NS, ORIGIN_NS, ORIGIN_NS};
    strobe_ring_writer_init(&n->session.ring, &w, 1);
    bool fits = cursor && netease_add_threads(n);
    for (uint64_t i = strobe_netease_ring_overwritten(&n->ring); fits && i < drawn; i++) {
        struct strobe_netease_capture c;
        if (strobe_netease_ring_read(&n->ring, i, &c, frames) != STROBE_OK)
            continue;
        n->kept_bytes += sizeof(uint64_t) * (3 + (uint64_t)c.count); /* used bytes of the entry */
        fits = add_capture(n, &w, cursor, &c, frames);
    }
    strobe_ring_writer_close(&n->session.ring, &w);
    strobe_session_finish(&n->session, &(struct strobe_clock_pair){end, end, end, end});
    free(cursor);
    return fits;
}

/* ---- names, in one batch, and the trace ---- */

static const char *netease_name_of(const struct netease *n, uint64_t pointer)
{
    const struct sim_scenario *s = n->run->scenario;
    if (pointer >= METHODS && (pointer - METHODS) / METHOD_BYTES < s->method_count)
        return s->methods[(pointer - METHODS) / METHOD_BYTES].name;
    if (pointer >= WAITS && (pointer - WAITS) / METHOD_BYTES < STROBE_KIND_COUNT)
        return strobe_wait_name((unsigned)((pointer - WAITS) / METHOD_BYTES));
    return "[stale method]";
}

/* Frames are pointers, not return addresses. The engine asks its resolvers for the address before a return address. */
static size_t netease_resolve_pointer(void *ctx, uint64_t pointer, struct strobe_symbol *out, size_t max)
{
    const struct netease *n = ctx;
    if (max == 0)
        return 0;
    *out = (struct strobe_symbol){.function = netease_name_of(n, pointer),
                                  .image = "",
                                  .file = "",
                                  .function_id = (uint32_t)(pointer / METHOD_BYTES),
                                  .function_address = pointer};
    return 1;
}

static enum strobe_status netease_build_timeline(struct netease *n, struct sim_tracks *out)
{
    struct strobe_timeline_options options = {0};
    struct strobe_function_tree *tree = NULL;
    struct strobe_sink *sink = sim_tracks_sink(out, ORIGIN_NS);
    struct strobe_resolver resolver = {.resolve = netease_resolve_pointer, .ctx = n};
    if (!sink)
        return STROBE_IO;
    enum strobe_status status = strobe_function_tree_open(&n->reader->session.stacks, resolver, &tree);
    if (status == STROBE_OK)
        status = strobe_timeline_build(n->reader, tree, &options, sink, NULL);
    else
        sink->finish(sink);
    strobe_function_tree_close(tree);
    return status;
}

static enum strobe_status netease_reconstruct(struct sim_tracer *t, struct sim_run *run, struct sim_tracks *out,
                                              struct strobe_error *error)
{
    struct netease *n = netease_of(t);
    size_t first = out->track_count;
    struct strobe_config config = netease_plan_config(n);
    enum strobe_status status = sim_scratch_session(&config, run->scenario->name, &n->session, n->path, sizeof n->path);
    if (status == STROBE_OK && !netease_fill_session(n))
        status = STROBE_IO;
    if (status == STROBE_OK)
        status = strobe_reader_open(n->path, &n->reader, error);
    if (status == STROBE_OK)
        status = netease_build_timeline(n, out);
    if (status != STROBE_OK) {
        strobe_error_set(error, "netease: %s", strobe_status_text(status));
        return status;
    }
    for (size_t i = first; i < out->track_count; i++)
        out->tracks[i].generation = run->truth.tracks[out->tracks[i].generation - 1].generation;
    out->lost += strobe_netease_ring_overwritten(&n->ring) + n->not_stopped;
    out->bytes = n->kept_bytes;
    return STROBE_OK;
}

static void close_netease(struct sim_tracer *t)
{
    struct netease *n = netease_of(t);
    strobe_reader_close(n->reader);
    if (n->session.header)
        strobe_session_unmap(&n->session);
    free(n->memory);
    free(n);
}

struct sim_tracer *sim_policy_netease(void)
{
    struct netease *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->session.fd = -1;
    n->tracer = (struct sim_tracer){.start = netease_start,
                                    .reconstruct = netease_reconstruct,
                                    .save = sim_btrace_save,
                                    .close = close_netease,
                                    .policy = "netease",
                                    .interval_main_ns = PERIOD_NS,
                                    .interval_other_ns = PERIOD_NS};
    return &n->tracer;
}

/* RheaTrace 1.0 (btrace 1.0): instrumented methods of all threads write marks into the ring of an atrace proxy: enters,
 * returns, throws, each with its name; file operations are told by what they are done to, frames by the framework's own
 * mark. The ring is dumped as a log, read back, and calls that no return ended are closed at their thread's last word.
 *
 * The ring is as large as RheaTrace lets one choose: capture is to be judged here, not the size of a buffer. Files have
 * no names in scenarios: they are called after the method that uses them. */
#include "engine/method/rhea_log.h"
#include "engine/trace/calls_repair.h"
#include "engine/trace/rhea_read.h"
#include "engine/trace/timeline.h"
#include "sim/policy/btrace.h"
#include "sim/policy/call_claims.h"
#include "sim/policy/instrument.h"
#include "sim/policy/policy.h"
#include "sim/score/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ORIGIN_NS ((uint64_t)1000000000)     /* what the device's clock shows when the run begins */

enum { PROBE_BYTES = 10, DIGITS = 9, IO_LEAST = 1024, LABEL_BYTES = 512 };

static const char frame_mark[] = "Choreographer#doFrame";

static const struct { enum strobe_kind kind; const char *what; } labelled[] = {
    {STROBE_KIND_READ, "read"}, {STROBE_KIND_WRITE, "write"}, {STROBE_KIND_OPEN, "open"}, {STROBE_KIND_SYNC, "fsync"},
};
enum { LABELLED = sizeof labelled / sizeof *labelled };

struct rheatrace {
    struct sim_tracer tracer;
    struct sim_run *run;
    struct sim_costs costs;
    double owed_ns;              /* parts of a ns */
    struct sim_instrument probes;
    struct strobe_atrace atrace;
    struct sim_vthread *writes;  /* whose mark is on its way */
    bool main_only;
    uint32_t pid;                /* the main thread's tid */
    void *memory;
    size_t memory_bytes;
    struct sim_vthread **frames; /* threads whose message is a frame that was marked */
    size_t frame_count, frame_room;
    char *log;
    size_t log_bytes, log_room;
    uint64_t lost;               /* packets and messages, as the log says */
    bool failed;
};

static struct rheatrace *of(struct sim_tracer *t)
{
    return (struct rheatrace *)t;
}

static void charge(struct rheatrace *r, struct sim_vthread *v, double ns)
{
    r->owed_ns += ns;
    uint64_t whole = (uint64_t)r->owed_ns;
    r->owed_ns -= (double)whole;
    sim_tracer_charge(v, whole);
}

/* ---- capture ---- */

static uint64_t boot_ns(void *ctx)
{
    (void)ctx;
    return ORIGIN_NS + sim_now();
}

static uint32_t tid_of_writer(void *ctx)
{
    const struct rheatrace *r = ctx;
    return r->writes ? r->writes->tid : r->pid;
}

static enum strobe_status start(struct sim_tracer *t, struct sim_run *run)
{
    struct rheatrace *r = of(t);
    struct sim_instrument_options options = {.probe_bytes = PROBE_BYTES, .names = true, .throws = true};
    struct strobe_atrace_system system = {boot_ns, tid_of_writer, r};
    struct strobe_packet_ring ring;
    r->run = run;
    r->costs = run->options.costs;
    r->memory_bytes = strobe_packet_ring_bytes(STROBE_PACKET_SLOTS_MOST);
    r->memory = mmap(NULL, r->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->memory == MAP_FAILED) {
        r->memory = NULL;
        return STROBE_IO;
    }
    if (!sim_instrument_open(&r->probes, run->scenario, &options))
        return STROBE_IO;
    strobe_packet_ring_create(r->memory, STROBE_PACKET_SLOTS_MOST);
    enum strobe_status status = strobe_packet_ring_open(r->memory, r->memory_bytes, &ring);
    if (status == STROBE_OK)
        strobe_atrace_begin(&r->atrace, &ring, &system, r->pid, sim_now(), r->main_only);
    return status;
}

/* A process has the id of its main thread, which is known when that begins. */
static void thread_begin(struct sim_tracer *t, struct sim_vthread *v)
{
    struct rheatrace *r = of(t);
    if (!v->is_main)
        return;
    r->pid = r->atrace.main_tid = v->tid;
    strobe_store_relaxed(&r->atrace.ring.head->note[STROBE_ATRACE_NOTE_PID], v->tid);
}

/* What a mark costs whoever writes it; false: of this thread none is kept. */
static bool writes(struct rheatrace *r, struct sim_vthread *v)
{
    bool kept = !r->main_only || v->is_main;
    charge(r, v, kept ? r->costs.clock + r->costs.mark : r->costs.probe_other);
    r->writes = v;
    return kept;
}

static void mark(struct rheatrace *r, struct sim_vthread *v, enum strobe_atrace_kind kind, const char *name)
{
    if (writes(r, v))
        strobe_atrace_mark(&r->atrace, kind, name, strlen(name));
}

static void mark_method(struct sim_tracer *t, struct sim_vthread *v, uint32_t method, enum strobe_atrace_kind kind)
{
    struct rheatrace *r = of(t);
    if (r->probes.id[method])
        mark(r, v, kind, r->run->scenario->methods[method].name);
}

static void method_in(struct sim_tracer *t, struct sim_vthread *v, uint32_t method)
{
    mark_method(t, v, method, STROBE_ATRACE_ENTER);
}

static void method_out(struct sim_tracer *t, struct sim_vthread *v, uint32_t method)
{
    mark_method(t, v, method, STROBE_ATRACE_LEAVE);
}

static void method_throw(struct sim_tracer *t, struct sim_vthread *v, uint32_t method)
{
    mark_method(t, v, method, STROBE_ATRACE_THROW);
}

/* The bytes that the operation under way moves; NONE when they are drawn anew each time. */
static uint64_t size_of(const struct rheatrace *r, const struct sim_vthread *v)
{
    const struct sim_op *op = &r->run->scenario->ops[v->op];
    return op->size.kind == SIM_DIST_CONSTANT ? op->size.a : STROBE_ATRACE_NONE;
}

static const char *file_of(const struct rheatrace *r, const struct sim_vthread *v)
{
    const struct sim_scenario *s = r->run->scenario;
    uint32_t i = v->frame_count;
    while (i && v->frames[i - 1].method >= s->method_count)
        i--;
    return i ? s->methods[v->frames[i - 1].method].name : "";
}

static uint32_t scope_begin(struct sim_tracer *t, struct sim_vthread *v, enum strobe_kind kind, uint64_t what)
{
    struct rheatrace *r = of(t);
    char path[LABEL_BYTES / 2], label[LABEL_BYTES];
    size_t i = 0;
    (void)what;
    while (i < LABELLED && labelled[i].kind != kind)
        i++;
    bool moves = kind == STROBE_KIND_READ || kind == STROBE_KIND_WRITE;
    uint64_t size = moves && i < LABELLED ? size_of(r, v) : STROBE_ATRACE_NONE;
    if (i == LABELLED || size < IO_LEAST || !writes(r, v))
        return 0;
    int path_bytes = snprintf(path, sizeof path, "/data/%s", file_of(r, v));
    size_t bytes = strobe_atrace_label(label, sizeof label, labelled[i].what, path,
                                       (size_t)path_bytes < sizeof path ? (size_t)path_bytes : sizeof path - 1, size,
                                       STROBE_ATRACE_NONE);
    strobe_atrace_mark(&r->atrace, STROBE_ATRACE_BEGIN, label, bytes);
    return 1;
}

static void scope_end(struct sim_tracer *t, struct sim_vthread *v, uint32_t token, enum strobe_kind kind, uint64_t what,
                      enum strobe_wake how)
{
    (void)kind, (void)what, (void)how;
    if (token)
        mark(of(t), v, STROBE_ATRACE_END, "");
}

/* The framework's own marks, through the trace library: of frames. */
static void write_text(struct rheatrace *r, struct sim_vthread *v, const char *text)
{
    if (writes(r, v))
        strobe_atrace_message(&r->atrace, text, strlen(text));
}

static void message_begin(struct sim_tracer *t, struct sim_vthread *v, const struct sim_loop_message *m)
{
    struct rheatrace *r = of(t);
    char text[64];
    if (!m->is_frame || !r->run->scenario->methods[m->method].managed)
        return;
    if (!sim_grow(&r->frames, r->frame_count + 1, &r->frame_room, sizeof(struct sim_vthread *))) {
        r->failed = true;
        return;
    }
    r->frames[r->frame_count++] = v;
    snprintf(text, sizeof text, "B|%u|%s", r->pid, frame_mark);
    write_text(r, v, text);
}

static void message_end(struct sim_tracer *t, struct sim_vthread *v, uint32_t id)
{
    struct rheatrace *r = of(t);
    char text[32];
    size_t i = 0;
    (void)id;
    while (i < r->frame_count && r->frames[i] != v)
        i++;
    if (i == r->frame_count)
        return;
    r->frames[i] = r->frames[--r->frame_count];
    snprintf(text, sizeof text, "E|%u", r->pid);
    write_text(r, v, text);
}

/* ---- claims ---- */

static bool take_text(void *ctx, const char *text, size_t bytes)
{
    struct rheatrace *r = ctx;
    if (!sim_grow(&r->log, r->log_bytes + bytes + 1, &r->log_room, 1))
        return false;
    memcpy(r->log + r->log_bytes, text, bytes);
    r->log_bytes += bytes;
    r->log[r->log_bytes] = '\0';
    return true;
}

/* The frame's mark is the method that it encloses, where that has no marks of its own. */
static const char *frame_method(const struct rheatrace *r)
{
    const struct sim_scenario *s = r->run->scenario;
    for (uint32_t i = 0; i < s->queue_count; i++)
        if (s->queues[i].vsync_period_ns && s->methods[s->queues[i].frame_method].managed &&
            !r->probes.id[s->queues[i].frame_method])
            return s->methods[s->queues[i].frame_method].name;
    return NULL;
}

static struct sim_call_name name_of(const void *ctx, const char *name)
{
    if (!strcmp(name, frame_mark))
        return (struct sim_call_name){.name = frame_method(ctx)};
    for (size_t i = 0; i < LABELLED; i++) {
        size_t bytes = strlen(labelled[i].what);
        if (!strncmp(name, labelled[i].what, bytes) && name[bytes] == ':')
            return (struct sim_call_name){strobe_wait_name(labelled[i].kind), labelled[i].kind};
    }
    return (struct sim_call_name){.name = name};
}

static bool open_view(struct rheatrace *r)
{
    struct sim_view *view = &r->tracer.view;
    struct sim_tracks *truth = &r->run->truth;
    if (!sim_instrument_view(&r->probes, r->run->scenario, truth, r->main_only, view))
        return false;
    for (size_t i = 0; i < LABELLED; i++)
        view->told[sim_tracks_name(truth, strobe_wait_name(labelled[i].kind))] = true;
    if (frame_method(r))
        view->told[sim_tracks_name(truth, frame_method(r))] = true;
    return true;
}

static enum strobe_status read_log(struct rheatrace *r, struct strobe_calls *calls, char *why, size_t why_bytes)
{
    struct strobe_rhea_read_stats stats;
    strobe_atrace_end(&r->atrace);
    if (strobe_rhea_log(&r->atrace.ring, DIGITS, take_text, r, NULL) != STROBE_OK)
        return STROBE_IO;
    enum strobe_status status = strobe_rhea_read(r->log, r->log_bytes, calls, &stats, why, why_bytes);
    r->lost = stats.lost;
    return status == STROBE_OK ? strobe_calls_repair(calls, STROBE_REPAIR_LAST, NULL) : status;
}

static enum strobe_status claims(struct sim_tracer *t, struct sim_run *run, struct sim_tracks *out, char *why,
                                 size_t why_bytes)
{
    struct rheatrace *r = of(t);
    struct strobe_calls calls;
    strobe_calls_open(&calls);
    enum strobe_status status = open_view(r) && !r->failed ? read_log(r, &calls, why, why_bytes) : STROBE_IO;
    if (status == STROBE_OK)
        status = sim_claim_calls(&(struct sim_call_claims){.calls = &calls, .origin_ns = ORIGIN_NS,
                                                           .end_ns = run->end_ns, .name = name_of,
                                                           .ctx = r}, out);
    uint64_t tickets = strobe_packet_tickets(&r->atrace.ring), slots = STROBE_PACKET_SLOTS_MOST;
    out->bytes = sizeof(struct strobe_packet_slot) * (tickets < slots ? tickets : slots);
    out->lost += r->lost;
    strobe_calls_close(&calls);
    if (status == STROBE_IO && why_bytes && !why[0])
        snprintf(why, why_bytes, "out of memory");
    return status;
}

static void close_rheatrace(struct sim_tracer *t)
{
    struct rheatrace *r = of(t);
    sim_instrument_close(&r->probes);
    sim_view_close(&r->tracer.view);
    if (r->memory)
        munmap(r->memory, r->memory_bytes);
    free(r->frames);
    free(r->log);
    free(r);
}

struct sim_tracer *sim_policy_rheatrace(bool main_only)
{
    struct rheatrace *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->main_only = main_only;
    r->tracer = (struct sim_tracer){
        .start = start, .thread_begin = thread_begin, .method_in = method_in, .method_out = method_out,
        .method_throw = method_throw, .scope_begin = scope_begin, .scope_end = scope_end,
        .message_begin = message_begin, .message_end = message_end, .claims = claims,
        .save = sim_btrace_save, .close = close_rheatrace,
        .policy = main_only ? "rheatrace-main" : "rheatrace", .interval_main_ns = 1, .interval_other_ns = 1,
    };
    return &r->tracer;
}

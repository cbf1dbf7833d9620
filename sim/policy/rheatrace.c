/* RheaTrace 1.0 (btrace 1.0): instrumented methods of all threads write marks into the ring of an atrace proxy, for
 * enters, returns and throws, each with its name. Marks of file operations name the file; the framework's own mark
 * names frames. The ring is dumped as a log and read back. Calls without a return end at their thread's last mark.
 *
 * The ring has the largest size that RheaTrace allows, so that the capture is compared and not the size of a buffer.
 * Files have no names in scenarios; a file is named after the method that uses it. */
#include "engine/base/error_format.h"
#include "engine/method/rhea/rhea_log.h"
#include "engine/util/array.h"
#include "sim/policy/btrace.h"
#include "sim/policy/policy.h"
#include "sim/policy/rhea_reconstruct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ORIGIN_NS ((uint64_t)1000000000) /* value of the device's clock at the begin of the run */

enum { IO_LEAST = 1024, LABEL_BYTES = 512 };

struct rheatrace {
    struct sim_tracer tracer;
    struct sim_run *run;
    struct sim_costs costs;
    double owed_ns; /* fractions of a ns */
    struct sim_instrument probes;
    struct strobe_atrace atrace;
    struct sim_vthread *writes; /* the thread whose mark is being written */
    bool main_only;
    uint32_t pid; /* the main thread's tid */
    void *memory;
    size_t memory_bytes;
    struct sim_vthread **frames; /* threads whose current message is a marked frame */
    size_t frame_count, frame_room;
    char *log;
    size_t log_bytes, log_room;
    bool failed;
};

static struct rheatrace *rheatrace_of(struct sim_tracer *t)
{
    return (struct rheatrace *)t;
}

static void rheatrace_charge(struct rheatrace *r, struct sim_vthread *v, double ns)
{
    r->owed_ns += ns;
    uint64_t whole = (uint64_t)r->owed_ns;
    r->owed_ns -= (double)whole;
    sim_tracer_charge(v, whole);
}

/* ---- capture ---- */

static uint64_t rheatrace_boot_ns(void *ctx)
{
    (void)ctx;
    return ORIGIN_NS + sim_now();
}

static uint32_t tid_of_writer(void *ctx)
{
    const struct rheatrace *r = ctx;
    return r->writes ? r->writes->tid : r->pid;
}

static enum strobe_status rheatrace_start(struct sim_tracer *t, struct sim_run *run)
{
    struct rheatrace *r = rheatrace_of(t);
    struct strobe_atrace_system system = {rheatrace_boot_ns, tid_of_writer, r};
    struct strobe_packet_ring ring;
    r->run = run;
    r->costs = run->options.costs;
    r->memory_bytes = strobe_packet_ring_bytes(STROBE_PACKET_SLOTS_MOST);
    r->memory = mmap(NULL, r->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->memory == MAP_FAILED) {
        r->memory = NULL;
        return STROBE_IO;
    }
    if (!sim_instrument_open(&r->probes, run->scenario, &sim_rhea_probes))
        return STROBE_IO;
    strobe_packet_ring_create(r->memory, STROBE_PACKET_SLOTS_MOST);
    enum strobe_status status = strobe_packet_ring_open(r->memory, r->memory_bytes, &ring);
    if (status == STROBE_OK)
        strobe_atrace_begin(&r->atrace, &ring, &system, r->pid, sim_now(), r->main_only);
    return status;
}

/* The process id is the main thread's id, known at that thread's begin. */
static void rheatrace_thread_begin(struct sim_tracer *t, struct sim_vthread *v)
{
    struct rheatrace *r = rheatrace_of(t);
    if (!v->is_main)
        return;
    r->pid = r->atrace.main_tid = v->tid;
    strobe_store_relaxed(&r->atrace.ring.head->words[STROBE_ATRACE_HEAD_PID], v->tid);
}

/* Charges a thread for a mark. False: marks of this thread are not recorded. */
static bool rheatrace_may_write(struct rheatrace *r, struct sim_vthread *v)
{
    bool kept = !r->main_only || v->is_main;
    rheatrace_charge(r, v, kept ? r->costs.clock + r->costs.mark : r->costs.probe_other);
    r->writes = v;
    return kept;
}

static void rheatrace_write_event(struct rheatrace *r, struct sim_vthread *v, enum strobe_atrace_kind kind,
                                  const char *name)
{
    if (rheatrace_may_write(r, v))
        strobe_atrace_section(&r->atrace, kind, name, strlen(name));
}

static void mark_method(struct sim_tracer *t, struct sim_vthread *v, uint32_t method, enum strobe_atrace_kind kind)
{
    struct rheatrace *r = rheatrace_of(t);
    if (r->probes.id[method])
        rheatrace_write_event(r, v, kind, r->run->scenario->methods[method].name);
}

static void rheatrace_method_in(struct sim_tracer *t, struct sim_vthread *v, uint32_t method)
{
    mark_method(t, v, method, STROBE_ATRACE_ENTER);
}

static void rheatrace_method_out(struct sim_tracer *t, struct sim_vthread *v, uint32_t method)
{
    mark_method(t, v, method, STROBE_ATRACE_LEAVE);
}

static void rheatrace_method_throw(struct sim_tracer *t, struct sim_vthread *v, uint32_t method)
{
    mark_method(t, v, method, STROBE_ATRACE_THROW);
}

/* Returns the bytes that the current operation moves; NONE: each time a different number is drawn. */
static uint64_t size_of(const struct rheatrace *r, const struct sim_vthread *v)
{
    const struct sim_op *op = &r->run->scenario->ops[v->op];
    return op->size.kind == SIM_DIST_CONSTANT ? op->size.a : STROBE_ATRACE_NONE;
}

static const char *rheatrace_file_of(const struct rheatrace *r, const struct sim_vthread *v)
{
    const struct sim_scenario *s = r->run->scenario;
    uint32_t i = v->frame_count;
    while (i && v->frames[i - 1].method >= s->method_count)
        i--;
    return i ? s->methods[v->frames[i - 1].method].name : "";
}

static uint32_t rheatrace_scope_begin(struct sim_tracer *t, struct sim_vthread *v, enum strobe_kind kind, uint64_t what)
{
    struct rheatrace *r = rheatrace_of(t);
    char path[LABEL_BYTES / 2], label[LABEL_BYTES];
    const char *word = sim_rhea_label(kind);
    (void)what;
    bool moves = kind == STROBE_KIND_READ || kind == STROBE_KIND_WRITE;
    uint64_t size = moves ? size_of(r, v) : STROBE_ATRACE_NONE;
    if (!word || size < IO_LEAST || !rheatrace_may_write(r, v))
        return 0;
    int path_bytes = snprintf(path, sizeof path, "/data/%s", rheatrace_file_of(r, v));
    size_t bytes = strobe_atrace_label(label, sizeof label, word, path,
                                       (size_t)path_bytes < sizeof path ? (size_t)path_bytes : sizeof path - 1, size,
                                       STROBE_ATRACE_NONE);
    strobe_atrace_section(&r->atrace, STROBE_ATRACE_BEGIN, label, bytes);
    return 1;
}

static void rheatrace_scope_end(struct sim_tracer *t, struct sim_vthread *v, uint32_t token, enum strobe_kind kind,
                                uint64_t what, enum strobe_wake how)
{
    (void)kind, (void)what, (void)how;
    if (token)
        rheatrace_write_event(rheatrace_of(t), v, STROBE_ATRACE_END, "");
}

/* Writes the framework's own marks, of frames, through the trace library. */
static void rheatrace_write_text(struct rheatrace *r, struct sim_vthread *v, const char *text)
{
    if (rheatrace_may_write(r, v))
        strobe_atrace_message(&r->atrace, text, strlen(text));
}

static void rheatrace_message_begin(struct sim_tracer *t, struct sim_vthread *v, const struct sim_loop_message *m)
{
    struct rheatrace *r = rheatrace_of(t);
    char text[64];
    if (!m->is_frame || !r->run->scenario->methods[m->method].managed)
        return;
    if (!strobe_array_reserve(&r->frames, &r->frame_room, r->frame_count + 1)) {
        r->failed = true;
        return;
    }
    r->frames[r->frame_count++] = v;
    snprintf(text, sizeof text, "B|%u|%s", r->pid, SIM_RHEA_FRAME_MARK);
    rheatrace_write_text(r, v, text);
}

static void rheatrace_message_end(struct sim_tracer *t, struct sim_vthread *v, uint32_t id)
{
    struct rheatrace *r = rheatrace_of(t);
    char text[32];
    size_t i = 0;
    (void)id;
    while (i < r->frame_count && r->frames[i] != v)
        i++;
    if (i == r->frame_count)
        return;
    r->frames[i] = r->frames[--r->frame_count];
    snprintf(text, sizeof text, "E|%u", r->pid);
    rheatrace_write_text(r, v, text);
}

/* ---- reconstruction ---- */

static bool rheatrace_take_text(void *ctx, const char *text, size_t bytes)
{
    struct rheatrace *r = ctx;
    if (!strobe_array_reserve(&r->log, &r->log_room, r->log_bytes + bytes + 1))
        return false;
    memcpy(r->log + r->log_bytes, text, bytes);
    r->log_bytes += bytes;
    r->log[r->log_bytes] = '\0';
    return true;
}

static enum strobe_status rheatrace_reconstruct(struct sim_tracer *t, struct sim_run *run, struct sim_tracks *out,
                                                struct strobe_error *error)
{
    struct rheatrace *r = rheatrace_of(t);
    enum strobe_status status = STROBE_IO;
    strobe_atrace_end(&r->atrace);
    if (!r->failed && sim_rhea_view(&r->probes, run->scenario, &run->truth, r->main_only, &r->tracer.view) &&
        strobe_rhea_log(&r->atrace.ring, SIM_RHEA_DIGITS, rheatrace_take_text, r, NULL) == STROBE_OK)
        status = sim_rhea_reconstruct(
            &(struct sim_rhea_capture){
                .log = r->log, .bytes = r->log_bytes, .origin_ns = ORIGIN_NS, .end_ns = run->end_ns},
            &r->probes, run->scenario, out, error);
    uint64_t tickets = strobe_packet_tickets(&r->atrace.ring), slots = STROBE_PACKET_SLOTS_MOST;
    out->bytes = sizeof(struct strobe_packet_slot) * (tickets < slots ? tickets : slots);
    if (status == STROBE_IO && error && !error->text[0])
        strobe_error_set(error, "out of memory");
    return status;
}

static void close_rheatrace(struct sim_tracer *t)
{
    struct rheatrace *r = rheatrace_of(t);
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
        .start = rheatrace_start,
        .thread_begin = rheatrace_thread_begin,
        .method_in = rheatrace_method_in,
        .method_out = rheatrace_method_out,
        .method_throw = rheatrace_method_throw,
        .scope_begin = rheatrace_scope_begin,
        .scope_end = rheatrace_scope_end,
        .message_begin = rheatrace_message_begin,
        .message_end = rheatrace_message_end,
        .reconstruct = rheatrace_reconstruct,
        .save = sim_btrace_save,
        .close = close_rheatrace,
        .policy = main_only ? "rheatrace-main" : "rheatrace",
        .interval_main_ns = 1,
        .interval_other_ns = 1,
    };
    return &r->tracer;
}

#include "sim/policy/btrace_android.h"
#include "engine/base/error_format.h"

#include "engine/util/array.h"
#include "sim/policy/btrace.h"
#include "sim/policy/btrace_android_files.h"
#include "sim/policy/btrace_android_trace.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTERVAL_NS = 1000000, DEPTH_MAX = 128 };

#define NOT_HOOKED UINT32_MAX

struct open_scope {
    enum sim_btrace_type type;
    uint64_t begin_ns, cpu_ns;
    uint32_t frames; /* number of the thread's frames when it was opened */
};

/* State of a thread. */
struct local {
    struct sim_vthread *v; /* NULL once it has ended */
    uint32_t tid;
    bool is_main, sampled;
    uint64_t last_ns; /* time of its last sample */
    uint64_t objects, bytes;
    uint32_t messages;
    struct open_scope *open;
    size_t open_count, open_room;
    char name[32];
};

/* The object that main waits for; one marker per kind. */
struct marker {
    bool waits;
    uint64_t what, begin_ns;
};

struct android {
    struct sim_tracer tracer;
    const struct sim_scenario *scenario;
    struct sim_costs costs;
    bool *cond_of_monitor; /* by condition: it is used with Object.wait */
    struct local **locals;
    size_t local_count, local_room;
    uint32_t pid, main_serial;
    struct marker monitor, object, park;
    struct sim_btrace_stacks stacks;
    struct sim_btrace_record *ring;
    size_t ring_room, capacity;
    uint64_t tickets; /* number of records written; the next slot is tickets % capacity */
    uint64_t too_deep;
    uint64_t samples_of[1 << 16];
    uint64_t frames[DEPTH_MAX];
    bool failed;
};

static struct android *android_of(struct sim_tracer *t)
{
    return (struct android *)t;
}

/* ---- a sample ---- */

static bool android_is_managed(const struct android *a, uint32_t method)
{
    return method < a->scenario->method_count && a->scenario->methods[method].managed;
}

/* True when the frame is on the managed stack. */
static bool has_method(const struct android *a, const struct sim_vthread *v, uint32_t frame)
{
    uint32_t method = v->frames[frame].method;
    return method < a->scenario->method_count &&
           (android_is_managed(a, method) || (frame > 0 && android_is_managed(a, v->frames[frame - 1].method)));
}

/* True when managed code reached the hook. The hook's own frame does not belong to the app. */
static bool from_managed(const struct android *a, const struct sim_vthread *v)
{
    uint32_t frame = v->frame_count;
    while (frame > 0 && v->frames[frame - 1].method >= a->scenario->method_count)
        frame--;
    return frame > 0 && android_is_managed(a, v->frames[frame - 1].method);
}

/* True when the waiting call is a native Java method, which is on the stack. For other calls the trace builder adds a
 * leaf. */
static bool has_frame(enum sim_btrace_type type)
{
    return type != SIM_BTRACE_MONITOR && type != SIM_BTRACE_GC;
}

static void android_visit_frame(struct android *a, uint32_t *depth, uint64_t frame)
{
    if (*depth < DEPTH_MAX)
        a->frames[*depth] = frame;
    ++*depth;
}

/* Writes the frames of the managed stack, outermost first, with the native method `leaf` (number + 1) as the last one.
 * Stores those that fit, and returns the number of all. */
static uint32_t android_walk(struct android *a, const struct local *l, uint64_t leaf)
{
    const struct sim_vthread *v = l->v;
    uint32_t depth = 0;
    size_t scope = 0;
    for (uint32_t i = 0; i <= v->frame_count; i++) {
        for (; scope < l->open_count && (l->open[scope].frames <= i || i == v->frame_count); scope++)
            if (has_frame(l->open[scope].type))
                android_visit_frame(a, &depth, SIM_BTRACE_WAIT | sim_btrace_wait_of(l->open[scope].type));
        if (i < v->frame_count && has_method(a, v, i))
            android_visit_frame(a, &depth, (uint64_t)v->frames[i].method + 1);
    }
    if (leaf)
        android_visit_frame(a, &depth, leaf);
    return depth;
}

static void android_put_record(struct android *a, const struct sim_btrace_record *r)
{
    size_t slot = a->tickets % a->capacity;
    if (!strobe_array_reserve(&a->ring, &a->ring_room, slot + 1)) {
        a->failed = true;
        return;
    }
    a->ring[slot] = *r;
    a->tickets++;
    a->samples_of[r->tid]++;
}

/* True when a sample is granted. It then uses the thread's interval, even if it is dropped later. */
static bool android_may_sample(struct local *l, uint64_t now_ns, bool forced)
{
    if (!forced && l->sampled && now_ns - l->last_ns <= INTERVAL_NS)
        return false;
    l->sampled = true;
    l->last_ns = now_ns;
    return true;
}

/* Takes the stack and writes the record, whose times and type are in `r`. */
static void android_take_sample(struct android *a, struct local *l, struct sim_btrace_record *r, bool with_cpu,
                                uint64_t leaf)
{
    uint32_t depth = android_walk(a, l, leaf);
    double cost = a->costs.sample + a->costs.usage + depth * a->costs.frame + (with_cpu ? a->costs.thread_clock : 0);
    sim_btrace_charge(l->v, cost);
    if (depth == 0 || depth > DEPTH_MAX) {
        a->too_deep += depth > DEPTH_MAX;
        return;
    }
    r->tid = (uint16_t)l->tid;
    r->objects = l->objects;
    r->bytes = l->bytes;
    r->voluntary_switches = (uint32_t)l->v->thread->voluntary_switches;
    r->involuntary_switches = (uint32_t)l->v->thread->involuntary_switches;
    r->stack = sim_btrace_stack(&a->stacks, a->frames, depth);
    android_put_record(a, r);
}

static void sample_point(struct android *a, struct local *l, enum sim_btrace_type type, uint64_t leaf)
{
    uint64_t now_ns = sim_now();
    if (!android_may_sample(l, now_ns, false))
        return;
    struct sim_btrace_record r = {.nano = now_ns, .cpu = sim_cpu_ns(l->v->thread), .type = (uint16_t)type};
    android_take_sample(a, l, &r, true, leaf);
}

/* ---- hooks ---- */

static enum strobe_status android_start(struct sim_tracer *t, struct sim_run *run)
{
    struct android *a = android_of(t);
    const struct sim_scenario *s = run->scenario;
    a->scenario = s;
    a->costs = run->options.costs;
    a->cond_of_monitor = calloc((size_t)s->cond_count + 1, sizeof *a->cond_of_monitor);
    if (!a->cond_of_monitor)
        return STROBE_IO;
    for (uint32_t i = 0; i < s->op_count; i++)
        if (s->ops[i].kind == SIM_OP_WAIT && s->locks[s->ops[i].other].kind == SIM_LOCK_MONITOR)
            a->cond_of_monitor[s->ops[i].object] = true;
    return STROBE_OK;
}

static void android_thread_begin(struct sim_tracer *t, struct sim_vthread *v)
{
    struct android *a = android_of(t);
    struct local *l = calloc(1, sizeof *l);
    v->tracer = NULL;
    if (!l || !strobe_array_reserve(&a->locals, &a->local_room, a->local_count + 1)) {
        free(l);
        a->failed = true;
        return;
    }
    a->locals[a->local_count++] = l;
    *l = (struct local){.v = v, .tid = v->tid, .is_main = v->is_main};
    snprintf(l->name, sizeof l->name, "%s", v->thread->name);
    if (v->is_main) {
        a->pid = l->tid;
        a->main_serial = v->thread->serial;
    }
    v->tracer = l;
}

static void android_thread_end(struct sim_tracer *t, struct sim_vthread *v)
{
    (void)t;
    struct local *l = v->tracer;
    if (l)
        l->v = NULL;
    v->tracer = NULL;
}

static void android_point(struct sim_tracer *t, struct sim_vthread *v, enum strobe_kind kind, uint64_t arg)
{
    struct android *a = android_of(t);
    struct local *l = v->tracer;
    if (!l || (kind == STROBE_KIND_ALLOC ? !from_managed(a, v) : kind != STROBE_KIND_JNI))
        return;
    sim_btrace_charge(v, a->costs.hook + a->costs.clock);
    if (kind == STROBE_KIND_ALLOC) {
        l->objects++;
        l->bytes += arg;
        sample_point(a, l, SIM_BTRACE_ALLOCATION, 0);
    } else {
        sample_point(a, l, SIM_BTRACE_JNI, from_managed(a, v) ? arg + 1 : 0);
    }
}

static bool is_object(const struct android *a, uint64_t what)
{
    return sim_what_class(what) == SIM_WHAT_COND && a->cond_of_monitor[(uint32_t)what];
}

/* Returns in *type the type of record of a scope. False: it has no hook. */
static bool android_record_type(const struct android *a, enum strobe_kind kind, uint64_t what,
                                enum sim_btrace_type *type)
{
    switch (kind) {
    case STROBE_KIND_IPC: *type = SIM_BTRACE_BINDER; return true;
    case STROBE_KIND_GC: *type = SIM_BTRACE_GC; return true;
    case STROBE_KIND_MONITOR: *type = SIM_BTRACE_MONITOR; return true;
    case STROBE_KIND_PARK: *type = SIM_BTRACE_PARK; return true;
    case STROBE_KIND_LOAD: *type = SIM_BTRACE_LOAD; return true;
    case STROBE_KIND_COND: *type = SIM_BTRACE_OBJECT_WAIT; return is_object(a, what);
    default: return false;
    }
}

static struct marker *marker_of(struct android *a, enum sim_btrace_type type)
{
    switch (type) {
    case SIM_BTRACE_MONITOR: return &a->monitor;
    case SIM_BTRACE_OBJECT_WAIT: return &a->object;
    case SIM_BTRACE_PARK: return &a->park;
    default: return NULL;
    }
}

static uint32_t android_scope_begin(struct sim_tracer *t, struct sim_vthread *v, enum strobe_kind kind, uint64_t what)
{
    struct android *a = android_of(t);
    struct local *l = v->tracer;
    enum sim_btrace_type type;
    if (!l || !android_record_type(a, kind, what, &type))
        return NOT_HOOKED;
    if (!strobe_array_reserve(&l->open, &l->open_room, l->open_count + 1)) {
        a->failed = true;
        return NOT_HOOKED;
    }
    bool timed = type != SIM_BTRACE_PARK || l->is_main;
    sim_btrace_charge(v, a->costs.hook + (timed ? a->costs.clock + a->costs.thread_clock : 0));
    uint64_t now_ns = sim_now();
    l->open[l->open_count++] = (struct open_scope){type, now_ns, sim_cpu_ns(v->thread), v->frame_count};
    struct marker *marker = l->is_main ? marker_of(a, type) : NULL;
    if (marker)
        *marker = (struct marker){true, what, now_ns};
    return (uint32_t)(l->open_count - 1);
}

static void android_scope_end(struct sim_tracer *t, struct sim_vthread *v, uint32_t token, enum strobe_kind kind,
                              uint64_t what, enum strobe_wake how)
{
    (void)kind;
    (void)what;
    (void)how;
    struct android *a = android_of(t);
    struct local *l = v->tracer;
    if (!l || token == NOT_HOOKED)
        return;
    assert(token < l->open_count);
    struct open_scope scope = l->open[token];
    struct marker *marker = l->is_main ? marker_of(a, scope.type) : NULL;
    if (marker)
        marker->waits = false;
    if (scope.type != SIM_BTRACE_PARK || l->is_main) {
        sim_btrace_charge(v, a->costs.clock);
        uint64_t now_ns = sim_now();
        if (android_may_sample(l, now_ns, scope.type == SIM_BTRACE_GC)) {
            struct sim_btrace_record r = {.nano = scope.begin_ns,
                                          .cpu = scope.cpu_ns,
                                          .end_nano = now_ns,
                                          .end_cpu = sim_cpu_ns(v->thread),
                                          .type = (uint16_t)scope.type};
            android_take_sample(a, l, &r, true, 0);
        }
    }
    l->open_count = token;
}

/* Returns the marker of main's wait that a release matches, or NULL. *seen: the release has a hook. */
static const struct marker *android_match_release(struct android *a, const struct local *l, uint64_t what,
                                                  enum sim_btrace_type *type, bool *seen)
{
    const struct marker *m = NULL;
    bool matches = false;
    *seen = false;
    switch (sim_what_class(what)) {
    case SIM_WHAT_LOCK:
        /* Object.wait releases its monitor without a hook. */
        *seen = a->scenario->locks[(uint32_t)what].kind == SIM_LOCK_MONITOR &&
                a->scenario->ops[l->v->op].kind != SIM_OP_WAIT;
        *type = SIM_BTRACE_UNLOCK;
        m = &a->monitor;
        matches = m->what == what && !l->is_main;
        break;
    case SIM_WHAT_COND:
        *seen = is_object(a, what);
        *type = SIM_BTRACE_NOTIFY;
        m = &a->object;
        matches = m->what == what;
        break;
    case SIM_WHAT_PARK:
        *seen = true;
        *type = SIM_BTRACE_UNPARK;
        m = &a->park;
        matches = (uint32_t)what == a->main_serial;
        break;
    default: break;
    }
    return *seen && matches && m->waits ? m : NULL;
}

static void android_release(struct sim_tracer *t, struct sim_vthread *v, uint64_t what, enum strobe_release how)
{
    (void)how;
    struct android *a = android_of(t);
    struct local *l = v->tracer;
    enum sim_btrace_type type;
    bool seen;
    if (!l)
        return;
    const struct marker *marker = android_match_release(a, l, what, &type, &seen);
    if (seen)
        sim_btrace_charge(v, a->costs.hook);
    if (!marker)
        return;
    sim_btrace_charge(v, a->costs.clock);
    uint64_t now_ns = sim_now();
    android_may_sample(l, now_ns, true);
    struct sim_btrace_record r = {.nano = marker->begin_ns, .end_nano = now_ns, .type = (uint16_t)type};
    android_take_sample(a, l, &r, false, 0);
}

static void android_message(struct sim_tracer *t, struct sim_vthread *v, uint32_t id)
{
    (void)id;
    struct local *l = v->tracer;
    if (!l)
        return;
    l->messages++;
    sim_btrace_charge(v, android_of(t)->costs.hook);
}

/* ---- the trace ---- */

/* Returns the records that the ring still holds, oldest first. NULL: out of memory. */
static struct sim_btrace_record *dump_ring(const struct android *a, size_t *count)
{
    *count = a->tickets < a->capacity ? (size_t)a->tickets : a->capacity;
    struct sim_btrace_record *out = malloc((*count + 1) * sizeof *out);
    for (size_t i = 0; out && i < *count; i++)
        out[i] = a->ring[(a->tickets - *count + i) % a->capacity];
    return out;
}

/* The dump sees only threads that are alive then, by 16 bits of their tid. */
static const char *android_thread_name(const void *ctx, uint16_t tid)
{
    const struct android *a = ctx;
    for (size_t i = a->local_count; i-- > 0 && tid < 1 << 15;)
        if ((uint16_t)a->locals[i]->tid == tid && (a->locals[i]->v || a->locals[i]->is_main))
            return a->locals[i]->name;
    return "Thread";
}

static uint64_t android_bytes_of(const struct android *a, const struct sim_btrace_record *records, size_t count)
{
    enum { HEADER = 28, MAPPING_HEADER = 16, RECORD = 76, METHOD = 10, THREAD = 3 };
    uint64_t bytes = HEADER + MAPPING_HEADER;
    for (size_t i = 0; i < count; i++)
        bytes += RECORD + 8 * (uint64_t)a->stacks.nodes[records[i].stack].depth;
    bool *named = calloc(a->scenario->method_count + 1, sizeof *named);
    for (size_t n = 1; named && n < a->stacks.count; n++) {
        uint64_t frame = a->stacks.nodes[n].frame;
        if (frame & SIM_BTRACE_WAIT || named[frame - 1])
            continue;
        named[frame - 1] = true;
        bytes += METHOD + strlen(a->scenario->methods[frame - 1].name);
    }
    free(named);
    for (size_t i = 0; i < a->local_count; i++)
        bytes += a->locals[i]->v ? THREAD + strlen(a->locals[i]->name) : 0;
    return bytes;
}

/* Returns the dump of these records. */
static struct sim_btrace_android_dump android_dump(struct android *a, const struct sim_btrace_record *records,
                                                   size_t count)
{
    return (struct sim_btrace_android_dump){.records = records,
                                            .count = count,
                                            .stacks = &a->stacks,
                                            .scenario = a->scenario,
                                            .thread_name = android_thread_name,
                                            .ctx = a,
                                            .pid = a->pid};
}

static enum strobe_status android_reconstruct(struct sim_tracer *t, struct sim_run *run, struct sim_tracks *out,
                                              struct strobe_error *error)
{
    (void)run;
    struct android *a = android_of(t);
    size_t count = 0;
    struct sim_btrace_record *records = dump_ring(a, &count);
    enum strobe_status status = STROBE_IO;
    if (records && !a->failed && !a->stacks.failed) {
        struct sim_btrace_android_dump dump = android_dump(a, records, count);
        status = sim_btrace_android_build(&dump, out);
    }
    if (status != STROBE_OK) {
        strobe_error_set(error, "out of memory");
    } else {
        out->samples = a->tickets;
        out->lost = a->tickets - count + a->too_deep;
        out->bytes = android_bytes_of(a, records, count);
        for (size_t i = 0; i < out->track_count; i++)
            out->tracks[i].samples = a->samples_of[out->tracks[i].tid];
    }
    free(records);
    return status;
}

/* Writes the trace of the reconstructed timeline, and the files that the collector leaves. */
static enum strobe_status android_save(struct sim_tracer *t, struct sim_run *run, const char *folder,
                                       struct strobe_error *error)
{
    struct android *a = android_of(t);
    size_t count = 0;
    enum strobe_status status = sim_btrace_save(t, run, folder, error);
    if (status != STROBE_OK)
        return status;
    struct sim_btrace_record *records = dump_ring(a, &count);
    if (!records) {
        strobe_error_set(error, "out of memory");
        return STROBE_IO;
    }
    struct sim_btrace_android_dump dump = android_dump(a, records, count);
    status = sim_btrace_android_write(&dump, folder, run->options.replace, error);
    free(records);
    return status;
}

static void close_android(struct sim_tracer *t)
{
    struct android *a = android_of(t);
    for (size_t i = 0; i < a->local_count; i++) {
        free(a->locals[i]->open);
        free(a->locals[i]);
    }
    free(a->locals);
    free(a->cond_of_monitor);
    free(a->ring);
    sim_btrace_stacks_close(&a->stacks);
    free(a);
}

struct sim_tracer *sim_btrace_android_open(uint32_t ring_records)
{
    struct android *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->capacity = ring_records;
    a->tracer = (struct sim_tracer){
        .start = android_start,
        .thread_begin = android_thread_begin,
        .thread_end = android_thread_end,
        .point = android_point,
        .scope_begin = android_scope_begin,
        .scope_end = android_scope_end,
        .release = android_release,
        .message = android_message,
        .reconstruct = android_reconstruct,
        .save = android_save,
        .close = close_android,
        .policy = "btrace-android",
        .interval_main_ns = INTERVAL_NS,
        .interval_other_ns = INTERVAL_NS,
    };
    return &a->tracer;
}

struct sim_tracer *sim_policy_btrace_android(void)
{
    return sim_btrace_android_open(SIM_BTRACE_ANDROID_RING);
}

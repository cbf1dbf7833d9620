/* btrace 2.0: instrumented methods of all threads keep the time of their enter in a local variable. They write a record
 * of 16 bytes when they return, if they took long enough, or where they throw. A method that is left in any other way,
 * or never, has no record. The buffer drops all records once it is full. */
#include "engine/trace/import/btrace/btrace2.h"
#include "engine/base/error_format.h"
#include "engine/util/array.h"
#include "sim/policy/btrace.h"
#include "sim/policy/btrace2_reconstruct.h"
#include "sim/policy/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BUFFER_BYTES = 500000000 }; /* the original's default */

/* A thread's open enters, by depth of their frame: the contents of the methods' local variables. */
struct entered {
    uint32_t frame;
    uint64_t time_ns;
};
struct local {
    struct local *next;
    struct entered *at;
    size_t count, room;
};

struct btrace2 {
    struct sim_tracer tracer;
    struct sim_run *run;
    struct sim_costs costs;
    double owed_ns; /* fractions of a ns */
    struct sim_instrument probes;
    unsigned char *buffer;
    uint64_t offset; /* bytes used, header included; may exceed the buffer */
    uint64_t dropped, refused;
    uint32_t main_tid;
    struct local *locals; /* of all threads ever */
    bool failed;
};

static struct btrace2 *btrace2_of(struct sim_tracer *t)
{
    return (struct btrace2 *)t;
}

static void btrace2_charge(struct btrace2 *b, struct sim_vthread *v, double ns)
{
    b->owed_ns += ns;
    uint64_t whole = (uint64_t)b->owed_ns;
    b->owed_ns -= (double)whole;
    sim_tracer_charge(v, whole);
}

/* ---- capture ---- */

static enum strobe_status btrace2_start(struct sim_tracer *t, struct sim_run *run)
{
    struct btrace2 *b = btrace2_of(t);
    b->run = run;
    b->costs = run->options.costs;
    b->buffer = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (b->buffer == MAP_FAILED) {
        b->buffer = NULL;
        return STROBE_IO;
    }
    b->offset = STROBE_BTRACE2_HEADER_BYTES;
    return sim_instrument_open(&b->probes, run->scenario, &sim_btrace2_probes) ? STROBE_OK : STROBE_IO;
}

static void btrace2_thread_begin(struct sim_tracer *t, struct sim_vthread *v)
{
    struct btrace2 *b = btrace2_of(t);
    struct local *l = calloc(1, sizeof *l);
    v->tracer = l;
    b->failed |= !l;
    if (l) {
        l->next = b->locals;
        b->locals = l;
    }
    if (v->is_main)
        b->main_tid = v->tid;
}

static void btrace2_method_in(struct sim_tracer *t, struct sim_vthread *v, uint32_t method)
{
    struct btrace2 *b = btrace2_of(t);
    struct local *l = v->tracer;
    if (!l || !b->probes.id[method])
        return;
    while (l->count && l->at[l->count - 1].frame >= v->frame_count)
        l->count--; /* left by an exception: the variable ended with its frame */
    if (!strobe_array_reserve(&l->at, &l->room, l->count + 1)) {
        b->failed = true;
        return;
    }
    btrace2_charge(b, v, b->costs.clock);
    l->at[l->count++] = (struct entered){v->frame_count, sim_now()};
}

static void btrace2_record(struct btrace2 *b, struct sim_vthread *v, uint32_t method, uint64_t begin_ns)
{
    uint64_t now_ns = sim_now(), word[2];
    struct strobe_btrace2_record r = {
        .start_ns = begin_ns, .duration_ns = now_ns - begin_ns, .tid = v->tid, .method = b->probes.id[method]};
    if (r.duration_ns <= SIM_BTRACE2_THRESHOLD_NS)
        return;
    btrace2_charge(b, v, b->costs.call_record);
    if (!strobe_btrace2_pack(&r, word)) {
        b->refused++;
        return;
    }
    uint64_t at = b->offset;
    b->offset += STROBE_BTRACE2_RECORD_BYTES;
    if (at + STROBE_BTRACE2_RECORD_BYTES < BUFFER_BYTES)
        memcpy(b->buffer + at, word, sizeof word);
    else
        b->dropped++;
}

/* Returns the innermost enter, which belongs to the reporting method. */
static const struct entered *entered_of(struct btrace2 *b, struct sim_vthread *v, uint32_t method)
{
    struct local *l = v->tracer;
    if (!l || !b->probes.id[method])
        return NULL;
    while (l->count && l->at[l->count - 1].frame > v->frame_count)
        l->count--;
    btrace2_charge(b, v, b->costs.clock);
    return l->count && l->at[l->count - 1].frame == v->frame_count ? &l->at[l->count - 1] : NULL;
}

static void btrace2_method_out(struct sim_tracer *t, struct sim_vthread *v, uint32_t method)
{
    struct btrace2 *b = btrace2_of(t);
    const struct entered *e = entered_of(b, v, method);
    if (!e)
        return;
    btrace2_record(b, v, method, e->time_ns);
    ((struct local *)v->tracer)->count--;
}

/* The variable stays, because the method may catch its own exception. */
static void btrace2_method_throw(struct sim_tracer *t, struct sim_vthread *v, uint32_t method)
{
    struct btrace2 *b = btrace2_of(t);
    const struct entered *e = entered_of(b, v, method);
    if (e)
        btrace2_record(b, v, method, e->time_ns);
}

/* ---- reconstruction ---- */

/* Builds the file in memory, with the header before the records. All clocks are equal and start with the run. */
static enum strobe_status btrace2_reconstruct(struct sim_tracer *t, struct sim_run *run, struct sim_tracks *out,
                                              struct strobe_error *error)
{
    struct btrace2 *b = btrace2_of(t);
    uint32_t version = STROBE_BTRACE2_VERSION;
    size_t bytes = b->offset < BUFFER_BYTES ? (size_t)b->offset : BUFFER_BYTES;
    enum strobe_status status = STROBE_IO;
    memcpy(b->buffer, &version, sizeof version);
    memcpy(b->buffer + sizeof version, &b->main_tid, sizeof b->main_tid);
    if (!b->failed && sim_instrument_view(&b->probes, run->scenario, &run->truth, false, &b->tracer.view))
        status = sim_btrace2_reconstruct(
            &(struct sim_btrace2_capture){.log = b->buffer, .bytes = bytes, .end_ns = run->end_ns}, &b->probes,
            run->scenario, out, error);
    out->lost += b->dropped + b->refused;
    if (status == STROBE_IO && error && !error->text[0])
        strobe_error_set(error, "out of memory");
    return status;
}

static void close_btrace2(struct sim_tracer *t)
{
    struct btrace2 *b = btrace2_of(t);
    for (struct local *l = b->locals, *next; l; l = next) {
        next = l->next;
        free(l->at);
        free(l);
    }
    sim_instrument_close(&b->probes);
    sim_view_close(&b->tracer.view);
    if (b->buffer)
        munmap(b->buffer, BUFFER_BYTES);
    free(b);
}

struct sim_tracer *sim_policy_btrace2(void)
{
    struct btrace2 *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->tracer = (struct sim_tracer){
        .start = btrace2_start,
        .thread_begin = btrace2_thread_begin,
        .method_in = btrace2_method_in,
        .method_out = btrace2_method_out,
        .method_throw = btrace2_method_throw,
        .reconstruct = btrace2_reconstruct,
        .save = sim_btrace_save,
        .close = close_btrace2,
        .policy = "btrace2",
        .interval_main_ns = SIM_BTRACE2_THRESHOLD_NS,
        .interval_other_ns = SIM_BTRACE2_THRESHOLD_NS,
    };
    return &b->tracer;
}

/* Matrix's TraceCanary: managed methods of the app write their enters and exits to a packed log of the main thread. A
 * separate thread advances the log's clock in steps of five ms. The log also has the begins and ends of the message
 * loop, and callbacks in the choreographer's queues mark the frames. The log is read back as exact calls with the
 * resolution of that clock, by the rules of the documented contract (engine/trace/import/matrix/matrix_stack.h). Calls
 * that an exception unwinds end with the enclosing call. */
#include "engine/base/error_format.h"
#include "engine/method/matrix/matrix_log.h"
#include "engine/trace/import/matrix/matrix_raw.h"
#include "engine/util/array.h"
#include "sim/policy/btrace.h"
#include "sim/policy/matrix_reconstruct.h"
#include "sim/policy/policy.h"

#include <stdio.h>
#include <stdlib.h>

struct matrix {
    struct sim_tracer tracer;
    struct sim_run *run;
    struct sim_costs costs;
    double owed_ns; /* fractions of a ns */
    struct sim_instrument probes;
    struct strobe_matrix_clock clock;
    struct strobe_matrix_log log;
    void *memory;
    struct sim_sem wake; /* wakes the clock's thread between messages */
    bool paused, waits;
    uint32_t tid;
    char name[32];
    bool *is_frame; /* by message: whether the choreographer's callbacks mark it as a frame */
    size_t handed_out, frame_room;
    bool failed;
};

static struct matrix *matrix_of(struct sim_tracer *t)
{
    return (struct matrix *)t;
}

static void matrix_charge(struct matrix *m, struct sim_vthread *v, double ns)
{
    m->owed_ns += ns;
    uint64_t whole = (uint64_t)m->owed_ns;
    m->owed_ns -= (double)whole;
    sim_tracer_charge(v, whole);
}

/* ---- capture ---- */

static void run_clock(void *arg)
{
    struct matrix *m = arg;
    for (;;) {
        while (m->paused) {
            m->waits = true;
            sim_sem_wait(&m->wake, UINT64_MAX);
        }
        sim_charge((uint64_t)(m->costs.clock + 0.5));
        strobe_matrix_clock_tick(&m->clock, sim_now());
        sim_sleep_until(sim_now() + SIM_MATRIX_TICK_NS);
    }
}

static enum strobe_status matrix_start(struct sim_tracer *t, struct sim_run *run)
{
    struct matrix *m = matrix_of(t);
    size_t bytes = strobe_matrix_log_bytes(STROBE_MATRIX_ENTRIES_DEFAULT);
    m->run = run;
    m->wake.name = "matrix clock";
    m->costs = run->options.costs;
    m->memory = malloc(bytes);
    if (!m->memory || !sim_instrument_open(&m->probes, run->scenario, &sim_matrix_probes))
        return STROBE_IO;
    strobe_matrix_clock_open(&m->clock, sim_now(), true);
    enum strobe_status status =
        strobe_matrix_log_open(&m->log, m->memory, bytes, STROBE_MATRIX_ENTRIES_DEFAULT, &m->clock);
    struct sim_thread_options clock = {
        .name = "matrix clock", .tid = SIM_SAMPLER_TID, .daemon = true, .entry = run_clock, .arg = m};
    m->tracer.sampler = sim_thread_start(run->kernel, &clock);
    return m->tracer.sampler ? status : STROBE_IO;
}

static void matrix_thread_begin(struct sim_tracer *t, struct sim_vthread *v)
{
    struct matrix *m = matrix_of(t);
    if (!v->is_main)
        return;
    m->tid = v->tid;
    snprintf(m->name, sizeof m->name, "%s", v->thread->name);
}

/* True when the probe is to log. Probes on other threads only check the thread id. */
static bool is_probed(struct matrix *m, struct sim_vthread *v, uint32_t method)
{
    if (!m->probes.id[method])
        return false;
    matrix_charge(m, v, v->is_main ? m->costs.probe : m->costs.probe_other);
    return v->is_main;
}

static void matrix_method_in(struct sim_tracer *t, struct sim_vthread *v, uint32_t method)
{
    struct matrix *m = matrix_of(t);
    if (is_probed(m, v, method))
        strobe_matrix_enter(&m->log, m->probes.id[method]);
}

static void matrix_method_out(struct sim_tracer *t, struct sim_vthread *v, uint32_t method)
{
    struct matrix *m = matrix_of(t);
    if (is_probed(m, v, method))
        strobe_matrix_leave(&m->log, m->probes.id[method]);
}

static void matrix_message_begin(struct sim_tracer *t, struct sim_vthread *v, const struct sim_loop_message *message)
{
    struct matrix *m = matrix_of(t);
    if (!v->is_main)
        return;
    if (!strobe_array_reserve(&m->is_frame, &m->frame_room, m->handed_out + 1)) {
        m->failed = true;
        return;
    }
    m->is_frame[m->handed_out++] = message->is_frame;
    matrix_charge(m, v, m->costs.clock + m->costs.probe);
    strobe_matrix_message_begin(&m->log, sim_now());
    m->paused = false;
    if (m->waits)
        sim_sem_post(&m->wake);
    m->waits = false;
}

static void matrix_message_end(struct sim_tracer *t, struct sim_vthread *v, uint32_t id)
{
    struct matrix *m = matrix_of(t);
    (void)id;
    if (!v->is_main)
        return;
    matrix_charge(m, v, m->costs.clock + m->costs.probe);
    strobe_matrix_message_end(&m->log, sim_now());
    m->paused = true;
}

/* ---- reconstruction ---- */

static enum strobe_status matrix_reconstruct(struct sim_tracer *t, struct sim_run *run, struct sim_tracks *out,
                                             struct strobe_error *error)
{
    struct matrix *m = matrix_of(t);
    uint64_t *entries = malloc((STROBE_MATRIX_ENTRIES_DEFAULT + 1) * sizeof *entries);
    enum strobe_status status = STROBE_IO;
    if (entries && !m->failed && sim_instrument_view(&m->probes, run->scenario, &run->truth, true, &m->tracer.view)) {
        const char *frame = sim_matrix_frame(&m->probes, run->scenario);
        if (frame)
            m->tracer.view.recorded[sim_tracks_name(&run->truth, frame)] = true;
        size_t count = strobe_matrix_copy_newest(&m->log, entries, STROBE_MATRIX_ENTRIES_DEFAULT);
        uint64_t lost = strobe_load_relaxed(&m->log.written) - count;
        status = sim_matrix_reconstruct(&(struct sim_matrix_capture){.tid = m->tid,
                                                                     .name = m->name,
                                                                     .entries = entries,
                                                                     .count = count,
                                                                     .lost = lost,
                                                                     .end_ns = run->end_ns,
                                                                     .is_frame = m->is_frame,
                                                                     .handed_out = m->handed_out},
                                        &m->probes, run->scenario, out);
    }
    free(entries);
    if (status != STROBE_OK)
        strobe_error_set(error, "out of memory");
    return status;
}

/* Writes the trace of the reconstructed timeline, a dump of the log and the build's mapping files. */
static enum strobe_status matrix_save(struct sim_tracer *t, struct sim_run *run, const char *folder,
                                      struct strobe_error *error)
{
    struct matrix *m = matrix_of(t);
    char path[4096];
    enum strobe_status status = sim_btrace_save(t, run, folder, error);
    if (status == STROBE_OK)
        status = sim_instrument_save(run->scenario, folder, run->options.replace, error);
    if (status != STROBE_OK)
        return status;
    uint64_t *entries = malloc(STROBE_MATRIX_ENTRIES_DEFAULT * sizeof *entries);
    size_t count = entries ? strobe_matrix_copy_newest(&m->log, entries, STROBE_MATRIX_ENTRIES_DEFAULT) : 0;
    snprintf(path, sizeof path, "%s/matrix.log", folder);
    status = entries ? strobe_matrix_raw_write(path, entries, count, run->options.replace) : STROBE_IO;
    if (status != STROBE_OK)
        strobe_error_set(error, "%.1000s: %s", path, strobe_status_text(status));
    free(entries);
    return status;
}

static void matrix_close(struct sim_tracer *t)
{
    struct matrix *m = matrix_of(t);
    sim_instrument_close(&m->probes);
    sim_view_close(&m->tracer.view);
    free(m->is_frame);
    free(m->memory);
    free(m);
}

struct sim_tracer *sim_policy_matrix(void)
{
    struct matrix *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->tracer = (struct sim_tracer){
        .start = matrix_start,
        .thread_begin = matrix_thread_begin,
        .method_in = matrix_method_in,
        .method_out = matrix_method_out,
        .message_begin = matrix_message_begin,
        .message_end = matrix_message_end,
        .reconstruct = matrix_reconstruct,
        .save = matrix_save,
        .close = matrix_close,
        .policy = "matrix",
        .interval_main_ns = SIM_MATRIX_TICK_NS,
        .interval_other_ns = SIM_MATRIX_TICK_NS,
    };
    return &m->tracer;
}

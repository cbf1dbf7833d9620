#include "sim/policy/matrix_reconstruct.h"

#include "engine/method/matrix/matrix_log.h"
#include "engine/trace/model/calls_repair.h"
#include "engine/util/array.h"
#include "sim/policy/call_reconstruct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBE_BYTES = 12, MS = 1000000 };
_Static_assert(SIM_MATRIX_TICK_NS == STROBE_MATRIX_TICK_MS * MS, "as the log has it");

const struct sim_instrument_options sim_matrix_probes = {.probe_bytes = PROBE_BYTES};

struct messages {
    struct sim_call_message *at;
    size_t count, room;
};

static bool matrix_add_message(struct messages *m, uint32_t tid, uint64_t time_ns, uint32_t id)
{
    if (!strobe_array_reserve(&m->at, &m->room, m->count + 1))
        return false;
    m->at[m->count++] = (struct sim_call_message){tid, time_ns, id};
    return true;
}

const char *sim_matrix_frame(const struct sim_instrument *probes, const struct sim_scenario *s)
{
    for (uint32_t i = 0; i < s->queue_count; i++)
        if (s->queues[i].vsync_period_ns && s->methods[s->queues[i].frame_method].managed &&
            !probes->id[s->queues[i].frame_method])
            return s->methods[s->queues[i].frame_method].name;
    return NULL;
}

/* Returns the number of messages logged before those that are still in the log. */
static size_t messages_before(const struct sim_matrix_capture *c)
{
    size_t inside = 0;
    for (size_t i = 0; i < c->count; i++)
        inside += strobe_matrix_id(c->entries[i]) == STROBE_MATRIX_DISPATCH && strobe_matrix_is_enter(c->entries[i]);
    return c->handed_out > inside ? c->handed_out - inside : 0;
}

static void add_call(struct strobe_calls *calls, uint32_t thread, bool in, uint64_t time_ns, const char *name)
{
    strobe_calls_add(calls, thread, in ? STROBE_CALL_BEGIN : STROBE_CALL_END, time_ns,
                     strobe_calls_name(calls, name, strlen(name)));
}

/* Reads the log as a stream of calls, and the messages as a list. */
static bool matrix_read_calls(const struct sim_matrix_capture *c, const struct sim_instrument *probes,
                              const struct sim_scenario *s, struct strobe_calls *calls, struct messages *messages)
{
    const char *frame = c->is_frame ? sim_matrix_frame(probes, s) : NULL;
    uint32_t thread = strobe_calls_thread(calls, c->tid);
    size_t message = messages_before(c);
    calls->resolution_ns = SIM_MATRIX_TICK_NS;
    for (size_t i = 0; i < c->count && !calls->failed; i++) {
        uint32_t id = strobe_matrix_id(c->entries[i]);
        bool in = strobe_matrix_is_enter(c->entries[i]);
        uint64_t time_ns = strobe_matrix_ms(c->entries[i]) * MS;
        if (id == STROBE_MATRIX_DISPATCH) {
            message += in;
            if (!matrix_add_message(messages, c->tid, time_ns, in ? (uint32_t)message : 0))
                return false;
            if (frame && message && c->is_frame[message - 1])
                add_call(calls, thread, in, time_ns, frame);
            continue;
        }
        if (id <= probes->count)
            add_call(calls, thread, in, time_ns, s->methods[probes->method[id]].name);
    }
    if (calls->failed)
        return false;
    snprintf(calls->threads[thread].name, sizeof calls->threads[thread].name, "%s", c->name);
    calls->threads[thread].is_main = true;
    calls->threads[thread].lost = c->lost;
    return true;
}

enum strobe_status sim_matrix_reconstruct(const struct sim_matrix_capture *capture, const struct sim_instrument *probes,
                                          const struct sim_scenario *scenario, struct sim_tracks *out)
{
    struct strobe_calls calls;
    struct messages messages = {0};
    enum strobe_status status = STROBE_OK;
    if (!capture->tid)
        return STROBE_OK;
    strobe_calls_open(&calls);
    status = matrix_read_calls(capture, probes, scenario, &calls, &messages)
                 ? strobe_calls_repair(&calls, STROBE_REPAIR_ENCLOSING, NULL)
                 : STROBE_IO;
    if (status == STROBE_OK)
        status = sim_reconstruct_calls(&(struct sim_call_input){.calls = &calls,
                                                                .origin_ns = capture->origin_ns,
                                                                .end_ns = capture->end_ns,
                                                                .messages = messages.at,
                                                                .message_count = messages.count},
                                       out);
    out->bytes += sizeof(uint64_t) * capture->count;
    strobe_calls_close(&calls);
    free(messages.at);
    return status;
}

/* Reconstructs tracks for the score from exact calls. The input is a stream of calls from instrumentation, read and
 * repaired by the engine's own code. For sim/policy. */
#ifndef STROBE_SIM_POLICY_CALL_RECONSTRUCT_H
#define STROBE_SIM_POLICY_CALL_RECONSTRUCT_H

#include "engine/trace/model/calls.h"
#include "sim/score/tracks.h"

/* The meaning of a name of the stream, in the truth's names. */
struct sim_call_name {
    const char *name;      /* NULL: not a call of the app; the call and its end are left out */
    enum strobe_kind wait; /* the call blocks, with this kind; NONE: a method */
};

/* A message of a thread's loop, if the stream has messages: from time_ns on, the thread's calls belong to message `id`;
 * 0: no message. */
struct sim_call_message {
    uint32_t tid;
    uint64_t time_ns;
    uint32_t id;
};

struct sim_call_input {
    const struct strobe_calls *calls; /* repaired: begins and ends nest */
    uint64_t origin_ns;               /* the stream's time that counts as 0 */
    uint64_t end_ns;                  /* end of the capture, relative to origin_ns. Calls that the stream leaves open
                                         end here, although repair, which does not know this time, ends them earlier */
    struct sim_call_name (*name)(const void *ctx, const char *name); /* NULL: names are those of methods */
    const void *ctx;
    const struct sim_call_message *messages; /* in time order */
    size_t message_count;
    struct sim_loop_turn (*turn)(const void *ctx, uint32_t tid, uint32_t id); /* details of each message; NULL: none */
};

/* Appends a track for each thread that has calls. STROBE_IO: out of memory. */
enum strobe_status sim_reconstruct_calls(const struct sim_call_input *in, struct sim_tracks *out);

#endif

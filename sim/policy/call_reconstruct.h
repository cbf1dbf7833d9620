/* Exact calls as claims: what instrumentation captured and the engine's own readers and repair have put together, as
 * tracks for the score. For sim/policy. */
#ifndef STROBE_SIM_POLICY_CALL_RECONSTRUCT_H
#define STROBE_SIM_POLICY_CALL_RECONSTRUCT_H

#include "engine/trace/model/calls.h"
#include "sim/score/tracks.h"

/* What a name of the stream stands for in the truth's language. */
struct sim_call_name {
    const char *name;      /* NULL: no call of the app, left out with its end */
    enum strobe_kind wait; /* a call that blocks, of this kind; NONE = a method */
};

/* A message of a thread's loop as the stream tells it, where it does: what was told from now on is of message `id`;
 * 0 = none. */
struct sim_call_message {
    uint32_t tid;
    uint64_t time_ns;
    uint32_t id;
};

struct sim_call_input {
    const struct strobe_calls *calls; /* repaired: begins and ends nest */
    uint64_t origin_ns;               /* time of the stream that is 0 */
    uint64_t end_ns;                  /* when the capture ended, from 0: calls that the stream leaves open were under
                                         way then, though repair, which knows no such time, ends them before */
    struct sim_call_name (*name)(const void *ctx, const char *name); /* NULL: methods, as they are */
    const void *ctx;
    const struct sim_call_message *messages; /* in time order */
    size_t message_count;
    struct sim_loop_turn (*turn)(const void *ctx, uint32_t tid, uint32_t id); /* beside them; NULL = none */
};

/* Appends a track for each thread that has calls. STROBE_IO: out of memory. */
enum strobe_status sim_reconstruct_calls(const struct sim_call_input *in, struct sim_tracks *out);

#endif

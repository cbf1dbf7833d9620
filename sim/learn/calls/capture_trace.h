/* The part of capture.h that reads Perfetto traces. Wakers are matched by tid; a release has the time of the waker's
 * latest event "release" within the wait, or else the wait's end. */
#ifndef STROBE_SIM_LEARN_CALLS_CAPTURE_TRACE_H
#define STROBE_SIM_LEARN_CALLS_CAPTURE_TRACE_H

#include "engine/base/error.h"
#include "sim/score/tracks.h"

/* As sim_learn_read, without the path in `error`. */
enum strobe_status sim_learn_read_trace(const char *path, struct sim_tracks *out, struct strobe_error *error);

/* Makes times count from the first call of a thread. The capture then ends with its last thread. */
void sim_learn_move_to_zero(struct sim_tracks *t);

#endif

/* Reads a capture for `learn`: a session of the engine, or a Perfetto trace that `strobe convert` or the lab wrote.
 *
 * The result has the form of the lab's own timelines (sim/score/tracks.h), with times from 0. Beyond what
 * sim_tracks_sink keeps, `idle` of a track also has the spans in which the thread waited for a processor, under the
 * name
 * "[runnable]". The lab's true trace has the spans on processors instead (`cpu`). A Perfetto trace has no message ids.
 *
 * Reading half: allocates. Every value of the file is checked. */
#ifndef STROBE_SIM_LEARN_CALLS_CAPTURE_H
#define STROBE_SIM_LEARN_CALLS_CAPTURE_H

#include "engine/base/error.h"
#include "sim/score/tracks.h"

/* Reads the file. On failure `error` has one line with the file's name, and *out is empty. STROBE_BAD_INPUT,
 * STROBE_BAD_VERSION, STROBE_TRUNCATED, STROBE_IO. The caller closes *out in any case. */
enum strobe_status sim_learn_read(const char *path, struct sim_tracks *out, struct strobe_error *error);

#endif

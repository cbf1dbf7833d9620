/* Readers of one capture into a side of a comparison. Part of diff.h; used only by its files. */
#ifndef STROBE_TRACE_DIFF_TAKE_H
#define STROBE_TRACE_DIFF_TAKE_H

#include "engine/trace/diff/diff.h"

/* Reads all sessions at `path` as one capture. Errors as for strobe_diff_add. */
enum strobe_status strobe_diff_take_sessions(struct strobe_diff *d, unsigned side, const char *path,
                                             struct strobe_error *error);

/* Reads a trace. It is read twice: first for its length. */
enum strobe_status strobe_diff_take_trace(struct strobe_diff *d, unsigned side, const char *path,
                                          struct strobe_error *error);

#endif

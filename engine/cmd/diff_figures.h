/* Frames and starts of a capture, as figures of a comparison. */
#ifndef STROBE_CMD_DIFF_FIGURES_H
#define STROBE_CMD_DIFF_FIGURES_H

#include "engine/base/error.h"
#include "engine/trace/diff/diff.h"

/* Adds the frames, dropped frames, long messages and phases of starts that `report --findings` finds in a session. Adds
 * nothing for directories and traces. On failure `error` has one line without the path. */
enum strobe_status strobe_diff_add_findings(struct strobe_diff *d, unsigned side, const char *path,
                                            struct strobe_error *error);

#endif

/* Frames and starts of a capture, as figures of a comparison. */
#ifndef STROBE_CMD_DIFF_FIGURES_H
#define STROBE_CMD_DIFF_FIGURES_H

#include "engine/trace/diff/diff.h"

/* Adds the frames, dropped frames, long messages and phases of starts that `report --findings` finds in a session. It
 * is the `visit` of struct strobe_diff_options. */
enum strobe_status strobe_diff_add_findings(struct strobe_diff *d, unsigned side, const struct strobe_reader *reader,
                                            struct strobe_function_tree *tree);

#endif

/* Temporary sessions for runs. For sim/policy only. */
#ifndef STROBE_SIM_POLICY_SCRATCH_H
#define STROBE_SIM_POLICY_SCRATCH_H

#include "engine/store/session.h"

/* Creates a session in memory. No file remains, however the process ends. `path` names the session while it is mapped.
 * Status as of strobe_session_create. */
enum strobe_status sim_scratch_session(const struct strobe_config *config, const char *command,
                                       struct strobe_session *out, char *path, size_t path_bytes);

#endif

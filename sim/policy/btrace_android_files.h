/* Writes the records of btrace-android as the files that upstream's collector leaves: DIR/sampling (version 5) and
 * DIR/sampling-mapping (version 1), see engine/trace/import/btrace3/btrace3.h. `strobe import btrace3` reads them.
 *
 * A method's pointer is made of its number. The frames in which calls wait have the signatures of Android's methods.
 * As there, threads have 16 bits of their tid, and only threads with a known name are listed. */
#ifndef STROBE_SIM_POLICY_BTRACE_ANDROID_FILES_H
#define STROBE_SIM_POLICY_BTRACE_ANDROID_FILES_H

#include "engine/base/error.h"
#include "sim/policy/btrace_android_trace.h"

/* Returns the name of the frame in which a call of this kind waits, as the mapping has it; NULL: it has none. */
const char *sim_btrace_wait_frame(enum strobe_kind kind);

/* Writes both files. On failure `error` names the file. */
enum strobe_status sim_btrace_android_write(const struct sim_btrace_android_dump *dump, const char *folder,
                                            bool replace, struct strobe_error *error);

#endif

/* Writes the rows of btrace-ios as the database that upstream's collector leaves: DIR/btrace.sqlite, version 3, see
 * engine/trace/import/btraceios/btrace_ios.h. `strobe import btrace-ios` reads it.
 *
 * An address of code is made of its method's number, so that a reader can name it: see sim_btrace_ios_name. Methods,
 * and frames in which calls wait, are in the image "Lab.app/Lab"; the tracer's hooks, which have no symbol, are in no
 * image. The innermost address of a sample of the sampler is that of the next instruction; others are return addresses.
 */
#ifndef STROBE_SIM_POLICY_BTRACEIOS_BTRACE_IOS_FILES_H
#define STROBE_SIM_POLICY_BTRACEIOS_BTRACE_IOS_FILES_H

#include "engine/base/error.h"
#include "sim/policy/btrace_ios_trace.h"

/* Returns the name of the function that a return address in the database belongs to. NULL: none. */
const char *sim_btrace_ios_name(const struct sim_scenario *scenario, uint64_t return_address);

/* Writes the database. `main_tid` is the main thread's. On failure `error` names the file. */
enum strobe_status sim_btrace_ios_write(const struct sim_btrace_ios_dump *dump, uint32_t main_tid, const char *folder,
                                        bool replace, struct strobe_error *error);

#endif

/* The finding of a flight recorder's dump: what caused it (struct strobe_dump_cause in engine/store/session.h), which
 * thread was blocked in which call, and which thread held the lock. Reading half only; allocates. */
#ifndef STROBE_WATCH_DUMP_CAUSE_H
#define STROBE_WATCH_DUMP_CAUSE_H

#include "engine/trace/model/function_tree.h"
#include "engine/trace/session/reader.h"
#include "engine/watch/watch.h"

/* Reports the finding; nothing when the session is no dump. It lasts from the begin of the block, if that is known, to
 * the trigger. Its thread is 0 for the main thread, else the thread's id. Its stack is the last one of the holder, or
 * of the blocked thread when there is no holder. Values: holder_tid, signal. */
void strobe_dump_cause_find(const struct strobe_reader *reader, struct strobe_function_tree *tree,
                            struct strobe_finding_sink sink);

#endif

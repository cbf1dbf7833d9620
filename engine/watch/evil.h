/* Evil messages: messages of the main thread that took `evil_ns` (700 ms) or more, with the calls to blame.
 *
 *   blame          the method of the key; the message's text when no call is known
 *   stack, key     see blame.h. Reports without a stack have a key of their own; `unseen` says that no call is known
 *   cost_ms        length of the message
 *   stack_ms       the longer of that and the longest item
 *   nested_ms      time of it in nested messages
 *   waited_ms      from due time to begin, when it is known
 *   input_ms, animation_ms, traversal_ms      of the last frame that ended in the message
 *   cpu_permille   mean of the CPU events in the message
 *   unfinished     1: the stream ended in the message
 *
 * Source: Tencent Matrix 3b8293bd EvilMethodTracer. Defects there: the parser gets ns for ms (issue 840); from 2.1.0 it
 * has no begin of a message to parse from (issues 840, 851, 864), so the stack is empty. */
#ifndef STROBE_WATCH_EVIL_H
#define STROBE_WATCH_EVIL_H

#include "engine/watch/watch.h"

strobe_watch_open_fn strobe_watch_evil;

#endif

/* Evil messages: those of the main thread that took `evil_ns` (700 ms) or more, with the calls to blame.
 *
 * blame = the method of the key, the message's text where no call is known; stack and key as blame.h says. A report
 * without a stack is one of its own: `unseen` says that no call was told. Values: cost_ms (the message's length),
 * stack_ms (the longer of that and the longest item), nested_ms (of it, in messages within it), waited_ms (due to
 * begin, where known), input_ms, animation_ms, traversal_ms (of the last frame that ended within), cpu_permille (mean
 * of what was told within), unfinished (1: the stream ended in it).
 *
 * Source: Tencent Matrix 3b8293bd EvilMethodTracer, as studied. There the parser gets ns for ms (issue 840), and from
 * 2.1.0 no begin of a message to parse from (issues 840, 851, 864), which leaves the stack empty. */
#ifndef STROBE_WATCH_EVIL_H
#define STROBE_WATCH_EVIL_H

#include "engine/watch/watch.h"

strobe_watch_open_fn strobe_watch_evil;

#endif

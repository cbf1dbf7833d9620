/* iOS: the main run loop is blocked. What a checking thread of the app would find, that looks each half of the
 * threshold (2 s: each 1 s) and takes a stack of the main thread each 50 ms. It keeps those of one check period (20).
 *
 *   turn      begins BEFORE_TIMERS, and BEFORE_SOURCES or AFTER_WAITING where none is under way; ends BEFORE_WAITING
 *             and with EXIT. A check that finds one older than the threshold finds a block
 *   stack     to blame: of those kept, the one whose innermost frame had then been seen most times in a row; of equal
 *             ones the latest. Each of its frames is told with the number of kept stacks that it occurs in
 *   told      unless the stack is of one frame or none; or it is the one of the last finding, frame by frame, when the
 *             next check comes only after 2, 3, 5, 8, ... periods; or more than `block_limit` were found in 24 h. The
 *             stack is remembered in any case; a check without a block forgets it
 *
 * "main-block" findings from the turn's begin to the check: block_ms, samples, repeat, dump_type (2001, behind others
 * 2002). Mended here: a turn that begins at a full second is seen; turns of a loop that never sleeps are turns of their
 * own (#288); there is no limit of 300 to frames that are compared; checks begin at once, not after 5 s.
 *
 * Source: Tencent Matrix (3b8293bd) WCBlockMonitorMgr and WCMainThreadHandler, as studied. */
#ifndef STROBE_WATCH_BLOCK_H
#define STROBE_WATCH_BLOCK_H

#include "engine/watch/watch.h"

#define STROBE_BLOCK_SAMPLE_NS 50000000u

strobe_watch_open_fn strobe_watch_block;

#endif

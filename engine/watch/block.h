/* iOS: the main run loop is blocked. The watcher reports what a checking thread in the app would find. That thread
 * checks once in each half of the threshold (2 s: every 1 s) and takes a stack of the main thread every 50 ms. It keeps
 * the stacks of one check period (20).
 *
 *   turn      begins at BEFORE_TIMERS, or at BEFORE_SOURCES or AFTER_WAITING when no turn is open. It ends at
 *             BEFORE_WAITING and at EXIT. A check that finds a turn older than the threshold finds a block
 *   stack     the stack to blame is the kept stack whose innermost frame was then seen most times in a row; among equal
 *             ones, the latest. The report shows for each of its frames how many kept stacks contain it
 *   report    a block is not reported in these cases: the stack has at most one frame; the stack equals the stack of
 *             the last block, frame by frame (the next checks then follow after 2, 3, 5, 8, ... periods); more than
 *             `block_limit` blocks were found in 24 h. The stack is remembered in any case. A check without a block
 *             forgets it
 *
 * A "main-block" finding lasts from the begin of the turn to the check. Values: block_ms, samples, repeat, dump_type
 * (2001, in the background 2002).
 *
 * Corrected defects of Matrix: a turn that begins at a full second is seen; turns of a loop that never sleeps are
 * separate turns (#288); comparison is not limited to 300 frames; checks begin at once, not after 5 s.
 *
 * Source: Tencent Matrix (3b8293bd) WCBlockMonitorMgr and WCMainThreadHandler. */
#ifndef STROBE_WATCH_BLOCK_H
#define STROBE_WATCH_BLOCK_H

#include "engine/watch/watch.h"

#define STROBE_BLOCK_SAMPLE_NS 50000000u

strobe_watch_open_fn strobe_watch_block;

#endif

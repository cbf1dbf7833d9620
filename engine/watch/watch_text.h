/* What watchers are told, as text: for what an app's own hooks or a test wrote down. The first line is
 *
 *   strobe-watch 1 [due] [refresh=HZ] [within=NS]      due: times that things were due are known; within: times are
 *                                                      to within so many ns, and calls shorter than that may be missing
 *
 * and each other one begins with its time in ms, which may have decimals; empty ones, and those from a # on, say
 * nothing.
 *
 *   process PID NAME          begin DUE|- TEXT          end [TEXT]            call METHOD           return
 *   idle CLASS                idle-end                  touch FD BYTES        touched FD            app
 *   component CODE [TEXT]     created CLASS             focused CLASS         paused CLASS          destroyed CLASS
 *   foreground                background                signal NUMBER SENDER  not-responding PID
 *   nice N                    slack NS                  stat LINE             sched                 threads
 *   loop entry|timers|sources|waiting|woken|exit        sample METHOD;...     tick
 *   frame BEGIN INTENDED INPUT ANIMATION TRAVERSAL
 *
 * All times are ms; a frame ends at its line's; a sample's methods are outermost first; `stat` has a line of
 * /proc/PID/stat; `sched` and `threads` have the lines after them, up to one that is a single dot. Format of Strobe's
 * own. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_WATCH_WATCH_TEXT_H
#define STROBE_WATCH_WATCH_TEXT_H

#include "engine/base/error.h"
#include "engine/watch/watch_feed.h"

/* Reads the first line. STROBE_NO_ENTRY: this is no such text; STROBE_BAD_INPUT with `error`: "line 1: ...". */
enum strobe_status strobe_watch_text_view(const char *text, struct strobe_watch_view *out, struct strobe_error *error);

/* Tells `watcher` the rest and the end. The text is changed: lines are cut apart in place. STROBE_BAD_INPUT with
 * `error`
 * ("line N: what was expected"): what came before was told. STROBE_IO: out of memory. `seen` may be NULL. */
enum strobe_status strobe_watch_text_tell(char *text, struct strobe_watcher *watcher, struct strobe_watch_seen *seen,
                                          struct strobe_error *error);

#endif

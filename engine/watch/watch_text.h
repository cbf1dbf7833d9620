/* Events for watchers as text, for example written by an app's own hooks or by a test. The first line is
 *
 *   strobe-watch 1 [due] [refresh=HZ] [within=NS]      due: due times are known; within: times are exact to this many
 *   ns,
 *                                                      and calls shorter than that may be missing
 *
 * Each other line begins with its time in ms, which may have decimals. Empty lines, and lines that begin with #, are
 * ignored.
 *
 *   process PID NAME          begin DUE|- TEXT          end [TEXT]            call METHOD           return
 *   idle CLASS                idle-end                  touch FD BYTES        touched FD            app
 *   component CODE [TEXT]     created CLASS             focused CLASS         paused CLASS          destroyed CLASS
 *   foreground                background                signal NUMBER SENDER  not-responding PID
 *   nice N                    slack NS                  stat LINE             sched                 threads
 *   loop entry|timers|sources|waiting|woken|exit        sample METHOD;...     tick
 *   frame BEGIN INTENDED INPUT ANIMATION TRAVERSAL
 *
 * All times are in ms. A frame ends at the time of its line. The methods of a sample are outermost first. `stat` has a
 * line of /proc/PID/stat. `sched` and `threads` are followed by lines of text, up to a line that is a single dot. This
 * is Strobe's own format. Allocates memory; not thread-safe. Reading half only. */
#ifndef STROBE_WATCH_WATCH_TEXT_H
#define STROBE_WATCH_WATCH_TEXT_H

#include "engine/base/error.h"
#include "engine/watch/watch_feed.h"

/* Reads the first line. STROBE_NO_ENTRY: the text is in another format. STROBE_BAD_INPUT: `error` says "line 1:
 * ...". */
enum strobe_status strobe_watch_text_view(const char *text, struct strobe_watch_view *out, struct strobe_error *error);

/* Passes the events of the text, and then STROBE_WATCH_END, to `watcher`. The text is changed: lines are split in
 * place. STROBE_BAD_INPUT: `error` says "line N: expected ..."; earlier events were passed. STROBE_IO: memory ran out.
 * `seen` may be NULL. */
enum strobe_status strobe_watch_text_read(char *text, struct strobe_watcher *watcher, struct strobe_watch_seen *seen,
                                          struct strobe_error *error);

#endif

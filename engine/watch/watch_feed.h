/* Converts calls and messages of a main thread into events for watchers. The caller reports calls and messages in time
 * order: a timeline of samples or of calls (watch_timeline.h), or the lab's true and reconstructed timelines
 * (sim/score/found.h). The feed recognises the following by the names of methods:
 *
 *   frame       a call of one of `frames`. Its phases are the outermost calls in it whose names contain words for
 *               input, animation or traversal
 *   message     when the event source has no messages: a call of Handler.dispatchMessage, or a call directly in
 *               Looper.loop or CFRunLoopRun. Such messages do not nest
 *   text        of a message: the first call that begins in it
 *   app         begins with the first call
 *   component   handleLaunchActivity, handleCreateService, ... of ActivityThread; when none of these occurs, an
 *               activity's onCreate
 *   activity    CLASS.onCreate, .onWindowFocusChanged, .onPause and .onDestroy of a class whose name ends in Activity.
 *               The activity gets the focus at the latest at the end of the first frame that begins after its creation
 *   iOS         a name such as -[C m], CFRunLoopRun or UIApplicationMain shows that the app is an iOS app. Only then
 *               the feed reports turns of the run loop, and one sample in each 50 ms of a turn
 *
 * The caller numbers the names: each text has one number, dense from 0. Not thread-safe. The feed allocates memory only
 * for the paths of open calls. Reading half only. */
#ifndef STROBE_WATCH_WATCH_FEED_H
#define STROBE_WATCH_WATCH_FEED_H

#include "engine/watch/watch.h"

enum strobe_watch_call { STROBE_WATCH_METHOD, STROBE_WATCH_WAIT, STROBE_WATCH_GAP };

struct strobe_watch_feed_options {
    const char *frames;  /* names of frame methods, separated by ';'. A name matches a whole method name, or its end
                            after a '.' or blank. NULL = the methods of Choreographer and CADisplayLink */
    bool has_messages;   /* the event source reports messages */
    const char *process; /* process name, copied; "" or NULL = unknown */
    uint32_t pid;        /* 0 = unknown */
};

/* Counts of what the feed has processed. A report without findings shows what was examined. */
struct strobe_watch_seen {
    uint64_t begin_ns, end_ns;
    uint64_t calls, messages, frames, activities;
};

struct strobe_watch_feed;

/* Opens a feed that passes events to `watcher`, beginning with the first call or message. The caller keeps ownership of
 * `watcher`. Returns NULL when memory runs out. */
struct strobe_watch_feed *strobe_watch_feed_open(const struct strobe_watch_feed_options *options,
                                                 struct strobe_watcher *watcher);

/* Reports that a call begins. `name` is the number of `text`; `text` must stay valid as long as the feed. `node` is the
 * value for struct strobe_watch_event. */
void strobe_watch_feed_call(struct strobe_watch_feed *f, uint64_t time_ns, uint32_t name, const char *text,
                            enum strobe_watch_call class, uint32_t node);

/* Reports that the innermost call ends. */
void strobe_watch_feed_return(struct strobe_watch_feed *f, uint64_t time_ns);

/* Reports that a message begins, which was due at `due_ns` (0 = unknown). A message that is still open ends. */
void strobe_watch_feed_message(struct strobe_watch_feed *f, uint64_t time_ns, uint64_t due_ns);
void strobe_watch_feed_message_end(struct strobe_watch_feed *f, uint64_t time_ns);

/* Ends all that is open, passes STROBE_WATCH_END, and frees the feed. *seen may be NULL. STROBE_IO: memory ran out at
 * some time. */
enum strobe_status strobe_watch_feed_close(struct strobe_watch_feed *f, uint64_t time_ns,
                                           struct strobe_watch_seen *seen);

#endif

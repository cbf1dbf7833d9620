/* From the calls and messages of a main thread to what watchers are told. Whoever knows calls tells them here, in time
 * order: a timeline of samples or of calls (watch_timeline.h), the lab's truth and claims (sim/score/found.h). Frames,
 * an app's begin, activities and, where the teller has none, messages are known by the names of the methods:
 *
 *   frame       a call of one of `frames`; its phases are the outermost calls in it whose names speak of input, of
 *               animation and of traversal
 *   message     where the teller tells none: a call of Handler.dispatchMessage, or one right in Looper.loop or
 *               CFRunLoopRun; none within another
 *   text        of a message: the first call begun in it
 *   app         begins with the first call that is seen
 *   component   handleLaunchActivity, handleCreateService, ... of the ActivityThread; where none of them is seen, an
 *               activity's onCreate
 *   activity    CLASS.onCreate, .onWindowFocusChanged, .onPause and .onDestroy of a class that ends in Activity. It
 *               gains the focus at the latest when the first frame ends that begins after its creation
 *   iOS         a name such as -[C m], or CFRunLoopRun, or UIApplicationMain, tells that this is one: only then the run
 *               loop's turns, and a sample each 50 ms of one, are told
 *
 * Names are numbered by the teller, each text by one number of its own, dense from 0. Not thread-safe; allocates, the
 * paths of open calls only. Reading half only. */
#ifndef STROBE_WATCH_WATCH_FEED_H
#define STROBE_WATCH_WATCH_FEED_H

#include "engine/watch/watch.h"

enum strobe_watch_call { STROBE_WATCH_METHOD, STROBE_WATCH_WAIT, STROBE_WATCH_GAP };

struct strobe_watch_feed_options {
    const char *frames;  /* names of frames, separated by ';', each whole or from a '.' or blank on; NULL = of
                            Choreographer and CADisplayLink */
    bool has_messages;   /* the teller tells them */
    const char *process; /* name, copied; "" or NULL = not known */
    uint32_t pid;        /* 0 = not known */
};

/* What has gone by: where nothing is found, what nothing was found in. */
struct strobe_watch_seen {
    uint64_t begin_ns, end_ns;
    uint64_t calls, messages, frames, activities;
};

struct strobe_watch_feed;

/* Tells `watcher`, which stays the caller's, from the first call or message on. NULL: out of memory. */
struct strobe_watch_feed *strobe_watch_feed_open(const struct strobe_watch_feed_options *options,
                                                 struct strobe_watcher *watcher);

/* A call begins; `name` is the number of `text`, which is good as long as the feed; `node` as in events. */
void strobe_watch_feed_call(struct strobe_watch_feed *f, uint64_t time_ns, uint32_t name, const char *text,
                            enum strobe_watch_call class, uint32_t node);

/* The innermost call ends. */
void strobe_watch_feed_return(struct strobe_watch_feed *f, uint64_t time_ns);

/* A message begins; it was due at `due_ns`, 0 = not known. One that has not ended ends. */
void strobe_watch_feed_message(struct strobe_watch_feed *f, uint64_t time_ns, uint64_t due_ns);
void strobe_watch_feed_message_end(struct strobe_watch_feed *f, uint64_t time_ns);

/* Ends what is open, tells the end, and frees the feed. *seen may be NULL. STROBE_IO: memory ran out at some time. */
enum strobe_status strobe_watch_feed_close(struct strobe_watch_feed *f, uint64_t time_ns,
                                           struct strobe_watch_seen *seen);

#endif

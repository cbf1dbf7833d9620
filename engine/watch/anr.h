/* SIGQUIT, by which Android asks an app that does not respond for its threads; and what such a text of threads tells.
 *
 * A SIGQUIT (or signal 35, the debugger's, unless there was a report less than 20 s before) that the process did not
 * send to itself may mean an ANR. It does when the head of the main queue was due more than 2 s before (10 s behind
 * others): that is the message that begins next, where the teller knows when messages were due, else the one that
 * runs. Otherwise when the system says within 20 s that this process does not respond; not when it says so of another.
 * Signals of one block are one "sigquit-anr" finding, however many come.
 *
 * A text of threads gives a "deadlock" finding for each cycle of threads that wait for one another's locks.
 *
 * Source: Tencent Matrix (3b8293bd) SignalAnrTracer, SignalHandler and its deadlock finder, as studied; its two
 * reports for one block (#849) are mended. */
#ifndef STROBE_WATCH_ANR_H
#define STROBE_WATCH_ANR_H

#include "engine/watch/watch.h"

strobe_watch_open_fn strobe_watch_anr;

/* A thread of a cycle: waits for a lock that the next one holds, the last one for one of the first. */
struct strobe_deadlock_thread {
    uint32_t tid;
    const char *name;
};

/* A cycle, from its thread of the lowest tid on. `main_waits`: the main thread (tid 1) is in it, or waits for it. */
struct strobe_deadlock {
    const struct strobe_deadlock_thread *threads;
    size_t thread_count;
    bool main_waits;
};

/* Finds all cycles in a dump of threads as ART writes it: lines `"NAME" ... tid=N STATE`, each followed by those of its
 * stack, of which `... held by thread N` says whom it waits for. In order of their lowest tid; texts are good during
 * the call. Returns how many, or -1 when memory ran out. Any bytes will do; reads no more than `bytes`. */
long strobe_deadlocks_find(const char *text, size_t bytes, void (*found)(void *ctx, const struct strobe_deadlock *d),
                           void *ctx);

#endif

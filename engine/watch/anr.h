/* Android sends SIGQUIT to an app that does not respond, to request a dump of its threads. This watcher decides whether
 * a SIGQUIT means an ANR, and finds deadlocks in the text of the dump.
 *
 * A SIGQUIT that the process did not send to itself may mean an ANR. The same holds for signal 35 (the debugger's),
 * unless a report was made less than 20 s before. The watcher reports an ANR in these cases:
 *
 *   - the head of the main queue was overdue by more than 2 s (10 s in the background). The head is the next message
 *     that begins, when due times are known, else the running message
 *   - else, the system reports within 20 s that this process does not respond (a report on another process does not
 *     count)
 *
 * All signals during one block make one "sigquit-anr" finding.
 *
 * The text of a thread dump gives one "deadlock" finding for each cycle of threads that wait for one another's locks.
 *
 * Source: Tencent Matrix (3b8293bd) SignalAnrTracer, SignalHandler and its deadlock finder. Matrix makes two reports
 * for one block (#849); this is corrected here. */
#ifndef STROBE_WATCH_ANR_H
#define STROBE_WATCH_ANR_H

#include "engine/watch/watch.h"

strobe_watch_open_fn strobe_watch_anr;

/* A thread of a cycle. It waits for a lock that the next thread holds. The last thread waits for a lock of the
 * first. */
struct strobe_deadlock_thread {
    uint32_t tid;
    const char *name;
};

/* A cycle, beginning with the thread of the lowest tid. `main_waits`: the main thread (tid 1) is in the cycle, or waits
 * for a thread of it. */
struct strobe_deadlock {
    const struct strobe_deadlock_thread *threads;
    size_t thread_count;
    bool main_waits;
};

/* Finds all cycles in a dump of threads in ART's format: a line `"NAME" ... tid=N STATE` for each thread, followed by
 * the lines of its stack. In the stack, `... held by thread N` names the thread that it waits for. Calls `found` for
 * each cycle in order of the lowest tid; texts are valid during that call. Returns the number of cycles, or -1 when
 * memory runs out. Accepts any bytes and reads no more than `bytes`. */
long strobe_deadlocks_find(const char *text, size_t bytes, void (*found)(void *ctx, const struct strobe_deadlock *d),
                           void *ctx);

#endif

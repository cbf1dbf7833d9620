/* Decides whether the main thread is blocked, from what it publishes in the session: its message, its blocking call.
 *
 *   - A thread with a message loop is blocked when it has been busy with one message for too long, with or without
 *     calls that block. It is not busy while it waits for the next message (kind POLL).
 *   - Another thread, whose message is 0, is blocked when it has been too long in one call that waits for a lock, for
 *     the disk or for another process (mutex, rwlock, monitor, sync, ipc). Waits for input, for children or for other
 *     threads do not count, and neither does computing.
 *
 * The sampler looks in each pass. The begin of a message is therefore known to an interval. One thread at a time. */
#ifndef STROBE_FLIGHT_STALL_H
#define STROBE_FLIGHT_STALL_H

#include "engine/store/session.h"

/* Zero at first. */
struct strobe_stall {
    uint64_t since_ticks; /* since when the thread may be blocked; 0 = it is not */
    uint32_t message;     /* at that time */
    bool reported;
};

/* Looks at the thread. Returns true once for each time that it is blocked, when that has lasted for `least_ticks`;
 * s->since_ticks is then its begin. */
bool strobe_stall_look(struct strobe_stall *s, const struct strobe_thread_entry *main_thread, uint64_t now,
                       uint64_t least_ticks);

#endif

/* Channels: descriptors through which one thread of the program ends the wait of another.
 *
 * A channel is an event counter (eventfd), a pipe, or one direction of a socket pair. Hooks of the calls that create
 * and close channels keep a table by descriptor. An entry says which channel a read of the descriptor waits for, and
 * which channel a write to it feeds. The identity (capture/blocking.h) of a wait for a channel is the number of the
 * reading descriptor. The identity of a wait in epoll_wait is the number of the epoll set's descriptor; epoll_ctl shows
 * which set a channel belongs to.
 *
 *   reader   read, recv, poll, epoll_wait of a channel   strobe_wait_begin, ..., strobe_wait_end
 *   writer   write, send, eventfd_write to one           strobe_hook_passes for the reader's wait and for the set's
 *
 * Calls without a hook (fclose, close_range, a raw system call) can close a descriptor or give it another file. When a
 * release meets a wait, the writer therefore compares its descriptor's inode with the inode in the descriptor's entry.
 * At the end of the wait, a reader of the channel compares the same for its descriptor; a wait in epoll_wait does not.
 * All event counters share one inode, so for them the comparison shows only the kind of file.
 *
 * These channels are unknown, and waits for them have no waker:
 *
 *   - descriptors of STROBE_CHANNEL_DESCRIPTORS or more
 *   - descriptors from fcntl(F_DUPFD), inherited and received descriptors
 *   - sockets connected by an address
 *   - a channel whose reading descriptor is 0
 *   - a read of a copy made by dup, dup2 or dup3 (a write to the copy is known)
 *   - channels for which no entry was found: the search tries 64 of the table's 2^STROBE_CHANNELS_LOG2 entries
 *
 * A release ends a wait in epoll_wait only when the data of a returned event matches a channel of the set. The match is
 * by a hash, so another event can match by chance. When a channel and another descriptor become ready within the same
 * wait, the thread that fed the channel is recorded as the waker.
 *
 * The tables have a fixed size, and single atomic operations change them. A thread that stops or dies in the middle of
 * a change costs at most one channel's entry. */
#ifndef STROBE_BACKEND_COMMON_LIBC_CHANNELS_H
#define STROBE_BACKEND_COMMON_LIBC_CHANNELS_H

#include "engine/backend/common/hook_scope.h"

#include <poll.h>
#include <sys/epoll.h>

enum { STROBE_CHANNEL_DESCRIPTORS = 4096, STROBE_CHANNELS_LOG2 = 10, STROBE_CHANNEL_POLLED = 16 };

/* The entry of a descriptor. 0 = no channel, or an unknown one. */
struct strobe_channel_ends {
    strobe_a32 reads; /* the channel or epoll set that a read of the descriptor waits for */
    strobe_a32 feeds; /* the channel that a write to the descriptor feeds */
    strobe_a64 inode; /* the descriptor's inode when the entry was made */
};

extern struct strobe_channel_ends strobe_channel_ends[STROBE_CHANNEL_DESCRIPTORS];

/* Right after the call that created the descriptors. No effect for a descriptor below 0. */
void strobe_channel_made_counter(int fd);
void strobe_channel_made_pipe(const int ends[2]);
void strobe_channel_made_pair(const int ends[2]);
void strobe_channel_made_set(int fd);

/* Drops all entries, and makes new ones for the event counters and epoll sets that are open: for hooks that are put in
 * place while the program runs. (Of a pipe or socket pair the other end is not known.) Start only. */
void strobe_channel_find_open(void);

/* Right before the descriptor is closed or replaced. */
void strobe_channel_close(int fd);

/* `copy` is another descriptor of the same file as `fd`. */
void strobe_channel_copied(int fd, int copy);

/* Right after an epoll_ctl that succeeded. */
void strobe_channel_set_changed(int set, int operation, int fd, const struct epoll_event *event);

/* Returns true in a child by vfork. It runs in its parent's memory, but changes the descriptors of its own process.
 * Each backend defines this function. */
bool strobe_hook_in_vfork(void);

/* The slow part of strobe_channel_feed, for a descriptor that feeds a channel. */
void strobe_channel_hand_over(const struct strobe_hook_scope *s, int fd, uint32_t channel, size_t bytes);

/* Report how a wait for a channel or an epoll set ended, see strobe_hook_woken. Both preserve errno. */
void strobe_channel_woken(const struct strobe_hook_scope *s, int fd, enum strobe_wake how);
void strobe_channel_set_woken(const struct strobe_hook_scope *s, int set, const struct epoll_event *events, int count);

/* Returns the first descriptor among the first STROBE_CHANNEL_POLLED of a poll that reads a channel, or -1. `fds` is
 * only read, but not const: the C library declares the parameter of poll as written only. */
int strobe_channel_polled(struct pollfd *fds, nfds_t count);
void strobe_channel_poll_woken(const struct strobe_hook_scope *s, const struct pollfd *fds, nfds_t count, int fd,
                               int result);

static STROBE_ALWAYS_INLINE bool strobe_channel_is_read(int fd)
{
    return (unsigned)fd < STROBE_CHANNEL_DESCRIPTORS && strobe_load_relaxed(&strobe_channel_ends[fd].reads);
}

/* Right before the write of `bytes` to `fd` in scope `s`. SIZE_MAX: their number is not known. */
static STROBE_ALWAYS_INLINE void strobe_channel_feed(const struct strobe_hook_scope *s, int fd, size_t bytes)
{
    uint32_t channel =
        (unsigned)fd < STROBE_CHANNEL_DESCRIPTORS ? strobe_load_relaxed(&strobe_channel_ends[fd].feeds) : 0;
    if (strobe_unlikely(channel))
        strobe_channel_hand_over(s, fd, channel, bytes);
}

/* Returns how a read with this result ended. The end of a file (0) gives STROBE_WAKE_NONE. Reads errno. */
enum strobe_wake strobe_channel_wake_of(int64_t result);

#endif

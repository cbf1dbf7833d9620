/* Channels: descriptors by which one thread of the program ends another one's wait.
 *
 * A channel is an event counter (eventfd), a pipe, or one direction of a pair of sockets. Hooks of the calls that make
 * and close them keep a table by descriptor: which channel a read of this descriptor waits for, and which channel a
 * write to it feeds. A wait for a channel has the number of its reading descriptor as identity (capture/blocking.h); a
 * wait of epoll_wait has that of the epoll set, and the channel's set is known from epoll_ctl.
 *
 *   reader   read, recv, poll, epoll_wait of a channel   strobe_wait_begin, ..., strobe_wait_end
 *   writer   write, send, eventfd_write to one           strobe_hand_over for the reader's wait and for the set's
 *
 * A descriptor can be closed, or given another file, by calls that are not hooked (fclose, close_range, a raw system
 * call). So where a release meets a wait, both sides compare the inode of their descriptor with that of its making; of
 * event counters, which share one inode, only the kind is compared. What is not known costs wakers: descriptors of
 * STROBE_CHANNEL_DESCRIPTORS or more, descriptors from fcntl(F_DUPFD), inherited or received ones, and sockets that
 * are connected by an address.
 *
 * A wait of epoll_wait counts as ended by a release only when one of the returned events belongs to a channel of the
 * set. When a channel and another descriptor become ready within the same wait, who fed the channel is named.
 *
 * The tables are of fixed size and changed by single atomic operations. A thread that stops or dies in the middle costs
 * at most a channel's place. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_CHANNELS_H
#define STROBE_BACKEND_LINUX_PRELOAD_CHANNELS_H

#include "engine/backend/linux/preload/hook.h"

enum { STROBE_CHANNEL_DESCRIPTORS = 4096, STROBE_CHANNELS_LOG2 = 10, STROBE_CHANNEL_POLLED = 16 };

/* Of a descriptor; 0 = no channel, or none that is known. */
struct strobe_channel_ends {
    strobe_a32 reads; /* the channel, or the epoll set, that a read of it waits for */
    strobe_a32 feeds; /* the channel that a write to it feeds */
    strobe_a64 inode; /* when that became known */
};

extern struct strobe_channel_ends strobe_channel_ends[STROBE_CHANNEL_DESCRIPTORS];

/* Right after the call that made them; no effect for a descriptor below 0. */
void strobe_channel_made_counter(int fd);
void strobe_channel_made_pipe(const int ends[2]);
void strobe_channel_made_pair(const int ends[2]);
void strobe_channel_made_set(int fd);

/* Right before the descriptor is closed or replaced. */
void strobe_channel_close(int fd);

/* `copy` is another descriptor of the same file as `fd`. */
void strobe_channel_copied(int fd, int copy);

/* Right after an epoll_ctl that did not fail. */
void strobe_channel_set_changed(int set, int operation, int fd, const struct epoll_event *event);

/* What strobe_channel_feed does once the descriptor is known to feed one. */
void strobe_channel_hand_over(int fd, uint32_t channel, struct strobe_site site);

/* How a wait for a channel ended, see strobe_hook_woken. Both preserve errno. */
void strobe_channel_woken(const struct strobe_hook_scope *s, int fd, enum strobe_wake how);
void strobe_channel_set_woken(const struct strobe_hook_scope *s, int set, const struct epoll_event *events, int count);

/* The first descriptor of a poll that is a channel's to read; -1 when there is none. `fds` is only read; the C library
 * declares poll's as written only. */
int strobe_channel_polled(struct pollfd *fds, nfds_t count);
void strobe_channel_poll_woken(const struct strobe_hook_scope *s, const struct pollfd *fds, nfds_t count, int fd,
                               int result);

static STROBE_ALWAYS_INLINE bool strobe_channel_is_read(int fd)
{
    return (unsigned)fd < STROBE_CHANNEL_DESCRIPTORS && strobe_load_relaxed(&strobe_channel_ends[fd].reads);
}

/* Right before a write to `fd`. */
static STROBE_ALWAYS_INLINE void strobe_channel_feed(int fd, struct strobe_site site)
{
    uint32_t channel =
        (unsigned)fd < STROBE_CHANNEL_DESCRIPTORS ? strobe_load_relaxed(&strobe_channel_ends[fd].feeds) : 0;
    if (strobe_unlikely(channel))
        strobe_channel_hand_over(fd, channel, site);
}

/* A scope around a call that reads `fd` and returns less than 0 when it fails. */
#define READ_SCOPE(kind, fd)                                                                                           \
    SCOPE(kind, (uint64_t)(unsigned)(fd));                                                                             \
    bool is_channel_ = strobe_unlikely(strobe_channel_is_read(fd));                                                    \
    if (is_channel_)                                                                                                   \
    strobe_hook_waits(&scope_, (uint64_t)(unsigned)(fd))

/* Returns what the call has returned, in a hook with a READ_SCOPE. */
#define READ_RETURNS(type, fd, call)                                                                                   \
    do {                                                                                                               \
        type result_ = (call);                                                                                         \
        if (is_channel_)                                                                                               \
            strobe_channel_woken(&scope_, fd, strobe_channel_wake_of((int64_t)result_));                               \
        return result_;                                                                                                \
    } while (0)

/* A scope around a call that writes to `fd`. */
#define WRITE_SCOPE(kind, fd)                                                                                          \
    SCOPE(kind, (uint64_t)(unsigned)(fd));                                                                             \
    strobe_channel_feed(fd, HERE)

/* How a read that returned `result` ended; at the end of a file nothing is known. */
enum strobe_wake strobe_channel_wake_of(int64_t result);

#endif

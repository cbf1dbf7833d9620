/* Each channel has an entry in a table of channels. The entry is in use while `ends`, the number of its descriptors
 * known to be open, is not 0. An entry is claimed by a compare-and-swap of `ends` from 0 to n. The channel's id
 * consists of the entry's index and a generation, so an id kept beyond the channel's end matches no other channel. */
#include "engine/backend/common/libc/channels.h"

#include <errno.h>
#include <sys/stat.h>

enum { CHANNELS = 1 << STROBE_CHANNELS_LOG2, TRIES = 64, EVENTS = 64 };

/* A channel or an epoll set. `set` is the id of the epoll set that contains the channel. `events` belongs to a set: it
 * has a bit for the data of each channel's events. `reader` is the descriptor that is read, also for a set. */
struct channel {
    strobe_a32 ends, id, set, reader;
    strobe_a32 is_counter;
    strobe_a64 events;
};

struct strobe_channel_ends strobe_channel_ends[STROBE_CHANNEL_DESCRIPTORS];
static struct channel channels[CHANNELS];
static strobe_a32 next_place;

static struct strobe_channel_ends *ends_of(int fd)
{
    return (unsigned)fd < STROBE_CHANNEL_DESCRIPTORS ? &strobe_channel_ends[fd] : NULL;
}

static struct channel *channel_of(uint32_t id)
{
    struct channel *c = &channels[id % CHANNELS];
    return id && strobe_load_relaxed(&c->id) == id ? c : NULL;
}

static uint64_t inode_of(int fd)
{
    struct stat about;
    int error = errno;
    uint64_t inode = fstat(fd, &about) == 0 ? (uint64_t)about.st_ino : 0;
    errno = error;
    return inode;
}

static bool is_same_file(int fd)
{
    const struct strobe_channel_ends *e = ends_of(fd);
    return e && inode_of(fd) == strobe_load_relaxed(&e->inode);
}

/* ---- the table ---- */

/* Returns the id of a new channel; 0 when no entry was found, or for a reader 0: a wait for descriptor 0 would have no
 * identity. */
static uint32_t open_channel(int reader, uint32_t ends, bool is_counter)
{
    uint32_t start = strobe_add_relaxed(&next_place, 1);
    for (uint32_t i = 0; i < TRIES && reader > 0; i++) {
        uint32_t place = (start + i) % CHANNELS, nothing = 0;
        struct channel *c = &channels[place];
        if (strobe_load_relaxed(&c->ends) || !strobe_cas_acquire(&c->ends, &nothing, ends))
            continue;
        uint32_t id = strobe_load_relaxed(&c->id) + CHANNELS;
        id = id < CHANNELS ? CHANNELS | place : id - id % CHANNELS + place;
        strobe_store_relaxed(&c->set, 0);
        strobe_store_relaxed(&c->events, 0);
        strobe_store_relaxed(&c->reader, (uint32_t)reader);
        strobe_store_relaxed(&c->is_counter, is_counter);
        strobe_store_release(&c->id, id);
        return id;
    }
    return 0;
}

static void drop_end(uint32_t id)
{
    struct channel *c = channel_of(id);
    if (c)
        strobe_add_relaxed(&c->ends, UINT32_MAX);
}

static void set_ends(int fd, uint32_t reads, uint32_t feeds)
{
    struct strobe_channel_ends *e = ends_of(fd);
    if (!e)
        return;
    strobe_channel_close(fd); /* closes the previous channel of the descriptor, if its close was not seen */
    strobe_store_relaxed(&e->inode, reads || feeds ? inode_of(fd) : 0);
    strobe_store_relaxed(&e->reads, reads);
    strobe_store_release(&e->feeds, feeds);
}

void strobe_channel_made_counter(int fd)
{
    if (fd < 0 || strobe_hook_in_vfork())
        return;
    uint32_t id = open_channel(fd, 2, true); /* one descriptor is both ends */
    set_ends(fd, id, id);
}

void strobe_channel_made_pipe(const int ends[2])
{
    if (strobe_hook_in_vfork())
        return;
    uint32_t id = open_channel(ends[0], 2, false);
    set_ends(ends[0], id, 0);
    set_ends(ends[1], 0, id);
}

void strobe_channel_made_pair(const int ends[2])
{
    if (strobe_hook_in_vfork())
        return;
    uint32_t to_first = open_channel(ends[0], 2, false), to_second = open_channel(ends[1], 2, false);
    set_ends(ends[0], to_first, to_second);
    set_ends(ends[1], to_second, to_first);
}

void strobe_channel_made_set(int fd)
{
    if (fd >= 0 && !strobe_hook_in_vfork())
        set_ends(fd, open_channel(fd, 1, false), 0);
}

void strobe_channel_close(int fd)
{
    struct strobe_channel_ends *e = ends_of(fd);
    if (!e || !(strobe_load_relaxed(&e->reads) | strobe_load_relaxed(&e->feeds)) || strobe_hook_in_vfork())
        return;
    drop_end(strobe_exchange_acq_rel(&e->reads, 0));
    drop_end(strobe_exchange_acq_rel(&e->feeds, 0));
}

/* Records only what the copy feeds: a wait for the copy would have another identity than one for the original. */
void strobe_channel_copied(int fd, int copy)
{
    const struct strobe_channel_ends *e = ends_of(fd);
    if (!e || copy < 0 || copy == fd || strobe_hook_in_vfork())
        return;
    uint32_t feeds = strobe_load_relaxed(&e->feeds);
    struct channel *c = channel_of(feeds);
    if (c)
        strobe_add_relaxed(&c->ends, 1);
    set_ends(copy, 0, c ? feeds : 0);
}

/* ---- epoll sets ---- */

static uint64_t event_bit(uint64_t data)
{
    return 1ull << (data * 0x9e3779b97f4a7c15u >> 58); /* Fibonacci hashing (Knuth, 6.4) */
}

void strobe_channel_set_changed(int set, int operation, int fd, const struct epoll_event *event)
{
    const struct strobe_channel_ends *of_set = ends_of(set), *e = ends_of(fd);
    uint32_t id = of_set ? strobe_load_relaxed(&of_set->reads) : 0;
    struct channel *s = channel_of(id), *c = e ? channel_of(strobe_load_relaxed(&e->reads)) : NULL;
    if (!s || !c || strobe_hook_in_vfork())
        return;
    if (operation == EPOLL_CTL_DEL || !event || !(event->events & EPOLLIN)) {
        strobe_store_relaxed(&c->set, 0);
        return;
    }
    strobe_store_relaxed(&s->events, strobe_load_relaxed(&s->events) | event_bit(event->data.u64));
    strobe_store_relaxed(&c->set, id);
}

/* ---- releases ---- */

static bool is_waited_for(const struct strobe_thread *t, uint64_t what)
{
    return strobe_load_seq_cst(&t->engine->blocking->block[strobe_block_index(what)].waiting) != 0;
}

/* A thread that waits for a channel has found it empty, and an empty channel has room for PIPE_BUF bytes of Linux at
 * least (pipe(7)). A longer write can wait for room although it ends another thread's wait. */
enum { ROOM_BYTES = 4096 };

static void pass_bytes(const struct strobe_hook_scope *s, uint64_t what, enum strobe_release how, size_t bytes)
{
    if (bytes <= ROOM_BYTES)
        strobe_hook_passes(s, what, how);
    else
        strobe_hand_over(s->thread, what, how, s->site);
}

void strobe_channel_hand_over(const struct strobe_hook_scope *s, int fd, uint32_t channel, size_t bytes)
{
    const struct strobe_thread *t = s->thread;
    const struct channel *c = channel_of(channel);
    if (!t || !c)
        return;
    const struct channel *of_set = channel_of(strobe_load_relaxed(&c->set));
    uint64_t reader = strobe_load_relaxed(&c->reader), set = of_set ? strobe_load_relaxed(&of_set->reader) : 0;
    bool to_reader = is_waited_for(t, reader), to_set = set && is_waited_for(t, set);
    if (!(to_reader || to_set) || !is_same_file(fd))
        return;
    /* A write lets one reader continue. A write to an event counter lets all threads that poll it continue. */
    if (to_reader)
        pass_bytes(s, reader, strobe_load_relaxed(&c->is_counter) ? STROBE_RELEASE_TARGET : STROBE_RELEASE_ONE, bytes);
    if (to_set)
        pass_bytes(s, set, STROBE_RELEASE_ONE, bytes);
}

/* ---- waits ---- */

enum strobe_wake strobe_channel_wake_of(int64_t result)
{
    return result > 0                     ? STROBE_WAKE_RELEASED
           : result < 0 && errno == EINTR ? STROBE_WAKE_INTERRUPTED
                                          : STROBE_WAKE_NONE;
}

void strobe_channel_woken(const struct strobe_hook_scope *s, int fd, enum strobe_wake how)
{
    uint64_t what = (uint64_t)(unsigned)fd;
    int error = errno;
    if (how == STROBE_WAKE_RELEASED && strobe_hook_is_open(s) && strobe_wait_has_release(s->thread, what) &&
        !is_same_file(fd))
        how = STROBE_WAKE_NONE;
    strobe_hook_woken(s, what, how, false);
    errno = error;
}

int strobe_channel_polled(struct pollfd *fds, nfds_t count)
{
    for (nfds_t i = 0; fds && i < count && i < STROBE_CHANNEL_POLLED; i++)
        if (fds[i].events & POLLIN && strobe_channel_is_read(fds[i].fd))
            return fds[i].fd;
    return -1;
}

static bool is_ready(const struct pollfd *fds, nfds_t count, int fd)
{
    for (nfds_t i = 0; i < count && i < STROBE_CHANNEL_POLLED; i++)
        if (fds[i].fd == fd && fds[i].revents & POLLIN)
            return true;
    return false;
}

void strobe_channel_poll_woken(const struct strobe_hook_scope *s, const struct pollfd *fds, nfds_t count, int fd,
                               int result)
{
    if (result == 0)
        strobe_channel_woken(s, fd, STROBE_WAKE_TIMEOUT);
    else if (result > 0 && !is_ready(fds, count, fd))
        strobe_channel_woken(s, fd, STROBE_WAKE_NONE);
    else
        strobe_channel_woken(s, fd, strobe_channel_wake_of(result));
}

void strobe_channel_set_woken(const struct strobe_hook_scope *s, int set, const struct epoll_event *events, int count)
{
    enum strobe_wake how = count == 0 ? STROBE_WAKE_TIMEOUT : strobe_channel_wake_of(count);
    const struct strobe_channel_ends *e = ends_of(set);
    const struct channel *c = e ? channel_of(strobe_load_relaxed(&e->reads)) : NULL;
    bool is_fed = false;
    for (int i = 0; c && i < count && i < EVENTS; i++)
        is_fed |= (strobe_load_relaxed(&c->events) & event_bit(events[i].data.u64)) != 0;
    int error = errno;
    strobe_hook_woken(s, (uint64_t)(unsigned)set, how == STROBE_WAKE_RELEASED && !is_fed ? STROBE_WAKE_NONE : how,
                      false);
    errno = error;
}

/* Reads /proc/self/fd and /proc/self/fdinfo (proc(5)) by system calls, without memory from the heap. */
#include "engine/backend/common/libc/channels.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LIST_BYTES = 4096, LINK_BYTES = 64, INFO_BYTES = 4096 };

/* struct linux_dirent64 of getdents64(2), up to the name. */
struct listed {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
} __attribute__((packed));

static int parse_descriptor(const char *digits)
{
    int fd = 0;
    for (; *digits >= '0' && *digits <= '9' && fd < STROBE_CHANNEL_DESCRIPTORS; digits++)
        fd = fd * 10 + (*digits - '0');
    return *digits ? -1 : fd;
}

static uint64_t parse_number(const char **at, unsigned base)
{
    uint64_t value = 0;
    while (**at == ' ')
        (*at)++;
    for (;; (*at)++) {
        char c = **at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;
        if (digit >= base)
            return value;
        value = value * base + digit;
    }
}

/* Each line of an epoll set is `tfd: 12 events: 19 data: ffff0000 ...`; events and data are hexadecimal. */
static void find_members(int set, const char *name, int infos)
{
    char text[INFO_BYTES];
    int fd = (int)syscall(SYS_openat, infos, name, O_RDONLY | O_CLOEXEC, 0);
    long got = fd < 0 ? 0 : syscall(SYS_read, fd, text, sizeof text - 1);
    if (fd >= 0)
        syscall(SYS_close, fd);
    text[got > 0 ? got : 0] = '\0';
    for (const char *at = text; (at = strstr(at, "tfd:"));) {
        struct epoll_event event;
        at += strlen("tfd:");
        int member = (int)parse_number(&at, 10);
        const char *events = strstr(at, "events:"), *data = events ? strstr(events, "data:") : NULL;
        if (!data)
            return;
        events += strlen("events:");
        data += strlen("data:");
        event.events = (uint32_t)parse_number(&events, 16);
        event.data.u64 = parse_number(&data, 16);
        strobe_channel_set_changed(set, EPOLL_CTL_ADD, member, &event);
    }
}

struct open_descriptors {
    int list, infos; /* descriptors of the two directories */
    bool sets;       /* second round: the members of sets must be known first */
};

static void find_channel(const struct open_descriptors *o, const char *name)
{
    char link[LINK_BYTES] = "";
    int fd = parse_descriptor(name);
    if (fd <= 0 || syscall(SYS_readlinkat, o->list, name, link, sizeof link - 1) <= 0)
        return;
    if (!o->sets && strcmp(link, "anon_inode:[eventfd]") == 0)
        strobe_channel_made_counter(fd);
    if (o->sets && strcmp(link, "anon_inode:[eventpoll]") == 0) {
        strobe_channel_made_set(fd);
        find_members(fd, name, o->infos);
    }
}

static void visit_descriptors(const struct open_descriptors *o)
{
    _Alignas(struct listed) char list[LIST_BYTES];
    lseek(o->list, 0, SEEK_SET);
    for (long got; (got = syscall(SYS_getdents64, o->list, list, sizeof list)) > 0;)
        for (long at = 0; at < got;) {
            const struct listed *l = (const struct listed *)(const void *)(list + at);
            find_channel(o, l->name);
            at += l->bytes;
        }
}

void strobe_channel_find_open(void)
{
    int saved_errno = errno;
    for (int fd = 0; fd < STROBE_CHANNEL_DESCRIPTORS; fd++)
        strobe_channel_close(fd);
    struct open_descriptors o = {
        .list = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0),
        .infos = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)};
    if (o.list >= 0 && o.infos >= 0) {
        visit_descriptors(&o);
        o.sets = true;
        visit_descriptors(&o);
    }
    for (int i = 0; i < 2; i++)
        if ((i ? o.list : o.infos) >= 0)
            syscall(SYS_close, i ? o.list : o.infos);
    errno = saved_errno;
}

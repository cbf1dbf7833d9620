#include "engine/backend/linux/preload/late_threads.h"

#include "engine/backend/linux/preload/preload.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An entry of a directory, as getdents64(2) returns it. */
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

static struct {
    uint32_t tid;
    uint64_t cpu_ns; /* at the last poll; 0: not polled yet */
} late[STROBE_LATE_THREADS_MAX];

static uint32_t count;
static uint32_t seen; /* entries of the session's thread table that were compared with the list */

static void list_entry(const char *name, uint32_t own_tid)
{
    uint32_t tid = (uint32_t)strtoul(name, NULL, 10);
    if (tid && tid != own_tid && count < STROBE_LATE_THREADS_MAX)
        late[count++].tid = tid;
}

void strobe_late_threads_list(void)
{
    _Alignas(struct entry) char buffer[4096];
    uint32_t own_tid = (uint32_t)syscall(SYS_gettid);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    long bytes;
    count = seen = 0;
    while (fd >= 0 && (bytes = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < bytes;) {
            const struct entry *e = (const void *)(buffer + at);
            list_entry(e->name, own_tid);
            at += e->bytes;
        }
    if (fd >= 0)
        syscall(SYS_close, fd);
}

static void take_off_list(uint32_t tid)
{
    for (uint32_t i = 0; i < count; i++)
        if (late[i].tid == tid) {
            late[i] = late[--count];
            return;
        }
}

static void take_off_registered(void)
{
    const struct strobe_session *s = &strobe_preload.engine.session;
    for (uint32_t all = strobe_session_thread_count(s); seen < all; seen++)
        take_off_list(s->threads[seen].tid);
}

void strobe_late_threads_ask(void)
{
    const struct strobe_host *h = &strobe_preload.host.host;
    if (!count)
        return;
    take_off_registered();
    for (uint32_t i = count; i--;) {
        uint64_t cpu_ns;
        if (h->thread_cpu_ns(h->ctx, late[i].tid, &cpu_ns) != STROBE_OK) {
            late[i] = late[--count];
            continue;
        }
        if (late[i].cpu_ns && late[i].cpu_ns != cpu_ns)
            strobe_preload_ask_to_register(late[i].tid);
        late[i].cpu_ns = cpu_ns;
    }
}

#include "engine/backend/linux/preload/late_threads.h"

#include "engine/backend/linux/preload/own_threads.h"
#include "engine/backend/linux/preload/preload.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CPU_WITHOUT_HOOKS_NS = 10 * 1000 * 1000 };

/* An entry of a directory, as getdents64(2) returns it. */
struct directory_entry {
    uint64_t inode;
    int64_t offset;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

static struct late_thread {
    uint32_t tid;
    uint64_t first_ns; /* CPU time at the first poll; 0: not polled yet */
    uint64_t cpu_ns;   /* CPU time at the last poll */
} late_threads[STROBE_LATE_THREADS_MAX];

static uint32_t late_count;
static uint32_t entries_seen; /* entries of the session's thread table that were compared with the list */

static void list_late_thread(const char *name, uint32_t own_tid)
{
    uint32_t tid = (uint32_t)strtoul(name, NULL, 10);
    if (tid && tid != own_tid && !strobe_own_threads_outlive(tid) && late_count < STROBE_LATE_THREADS_MAX)
        late_threads[late_count++] = (struct late_thread){.tid = tid};
}

void strobe_late_threads_list(void)
{
    _Alignas(struct directory_entry) char buffer[4096];
    uint32_t own_tid = (uint32_t)syscall(SYS_gettid);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    long bytes;
    late_count = entries_seen = 0;
    while (fd >= 0 && (bytes = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < bytes;) {
            const struct directory_entry *e = (const void *)(buffer + at);
            list_late_thread(e->name, own_tid);
            at += e->bytes;
        }
    if (fd >= 0)
        syscall(SYS_close, fd);
}

static void remove_late_thread(uint32_t tid)
{
    for (uint32_t i = 0; i < late_count; i++)
        if (late_threads[i].tid == tid) {
            late_threads[i] = late_threads[--late_count];
            return;
        }
}

static void remove_registered_threads(void)
{
    const struct strobe_session *s = &strobe_preload.engine->session;
    for (uint32_t all = strobe_session_thread_count(s); entries_seen < all; entries_seen++)
        remove_late_thread(s->threads[entries_seen].tid);
}

/* Returns true when the thread runs now. With an attached library, the thread must also have used CPU time since its
 * calls lead to hooks, and have called none: it does not wait in calls then. */
static bool may_ask(uint32_t i, uint64_t cpu_ns)
{
    const struct late_thread *t = &late_threads[i];
    const struct strobe_host *h = &strobe_preload.host.host;
    uint64_t later_ns;
    if (!strobe_preload.attached)
        return t->cpu_ns != cpu_ns;
    return cpu_ns - t->first_ns >= CPU_WITHOUT_HOOKS_NS && h->thread_cpu_ns(h->ctx, t->tid, &later_ns) == STROBE_OK &&
           later_ns != cpu_ns;
}

void strobe_late_threads_ask(void)
{
    const struct strobe_host *h = &strobe_preload.host.host;
    if (!late_count)
        return;
    remove_registered_threads();
    for (uint32_t i = late_count; i--;) {
        uint64_t cpu_ns;
        if (h->thread_cpu_ns(h->ctx, late_threads[i].tid, &cpu_ns) != STROBE_OK) {
            late_threads[i] = late_threads[--late_count];
            continue;
        }
        if (!late_threads[i].first_ns)
            late_threads[i].first_ns = cpu_ns;
        else if (may_ask(i, cpu_ns))
            strobe_preload_ask_to_register(late_threads[i].tid);
        late_threads[i].cpu_ns = cpu_ns;
    }
}

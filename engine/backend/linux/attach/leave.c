#include "engine/backend/linux/attach/leave.h"

#include "engine/backend/linux/attach/cond_waits.h"
#include "engine/backend/linux/preload/own_threads.h"
#include "engine/backend/linux/preload/preload.h"
#include "engine/backend/linux/preload/process.h"
#include "engine/backend/linux/preload/visits.h"
#include "engine/backend/linux/thread_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Steps of a wait: short at first, because most threads leave at once. Waits for conditions are ended only when steps
 * are longer than WAKE_NS, after about 30 ms. */
enum { STEP_NS = 500 * 1000, STEP_MAX_NS = 50 * 1000 * 1000, WAKE_NS = 16 * 1000 * 1000, SETTLED = UINT32_MAX };

struct leaver {
    uint32_t tid; /* SETTLED: it has left */
    uint64_t cpu_ns;
};

/* An entry of a directory, as getdents64(2) returns it. */
struct task_entry {
    uint64_t inode;
    int64_t offset;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

static bool waits_outside(uint32_t tid, uint64_t low, uint64_t high)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%u/syscall", tid);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    long bytes = fd < 0 ? 0 : syscall(SYS_read, fd, line, sizeof line - 1);
    if (fd >= 0)
        syscall(SYS_close, fd);
    line[bytes > 0 ? bytes : 0] = '\0';
    return strobe_linux_waits_outside(line, low, high);
}

static bool has_left(struct leaver *l, uint64_t low, uint64_t high)
{
    const struct strobe_host *h = &strobe_preload.host.host;
    uint64_t cpu_ns;
    return h->thread_cpu_ns(h->ctx, l->tid, &cpu_ns) != STROBE_OK || cpu_ns - l->cpu_ns >= STROBE_LEAVE_CPU_NS ||
           waits_outside(l->tid, low, high);
}

static void list_leaver(struct leaver *list, uint32_t *count, uint32_t capacity, const char *name)
{
    const struct strobe_host *h = &strobe_preload.host.host;
    struct leaver l = {.tid = (uint32_t)strtoul(name, NULL, 10)};
    if (l.tid && l.tid != (uint32_t)syscall(SYS_gettid) && *count < capacity &&
        h->thread_cpu_ns(h->ctx, l.tid, &l.cpu_ns) == STROBE_OK)
        list[(*count)++] = l;
}

/* Lists the threads with their CPU time. Returns false when the list cannot be read. */
static bool list_leavers(struct leaver *list, uint32_t *count, uint32_t capacity)
{
    _Alignas(struct task_entry) char buffer[4096];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    long bytes;
    *count = 0;
    if (fd < 0)
        return false;
    while ((bytes = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < bytes;) {
            const struct task_entry *e = (const void *)(buffer + at);
            list_leaver(list, count, capacity, e->name);
            at += e->bytes;
        }
    syscall(SYS_close, fd);
    return bytes == 0 && *count < capacity;
}

static void pause_leaving(uint32_t *step_ns)
{
    struct timespec t = {0, *step_ns};
    syscall(SYS_nanosleep, &t, NULL);
    *step_ns = *step_ns * 2 < STEP_MAX_NS ? *step_ns * 2 : STEP_MAX_NS;
}

/* Memory for the list of all threads, twice as many as there are now. */
static struct leaver *map_leavers(size_t *bytes, uint32_t *capacity)
{
    *capacity = 2 * (uint32_t)strobe_process_thread_count() + 64;
    *bytes = *capacity * sizeof(struct leaver);
    void *p = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static bool all_have_left(struct leaver *list, uint32_t count, uint64_t low, uint64_t high)
{
    bool all = true;
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].tid != SETTLED && has_left(&list[i], low, high))
            list[i].tid = SETTLED;
        all = all && list[i].tid == SETTLED;
    }
    return all;
}

bool strobe_leave_wait(uint64_t low, uint64_t high)
{
    uint32_t step_ns = STEP_NS, capacity, count = 0;
    size_t bytes = 0;
    struct leaver *list = NULL;
    bool listed = false, left = false;
    while (!left && !strobe_own_threads_alone()) {
        if (!listed && strobe_visits_running() == 0) {
            if (list)
                munmap(list, bytes);
            list = map_leavers(&bytes, &capacity);
            listed = list && list_leavers(list, &count, capacity);
        }
        left = listed && all_have_left(list, count, low, high) && strobe_visits_running() == 0;
        if (!left && step_ns >= WAKE_NS && strobe_visits_running())
            strobe_cond_waits_wake();
        if (!left)
            pause_leaving(&step_ns);
    }
    if (list)
        munmap(list, bytes);
    return left;
}

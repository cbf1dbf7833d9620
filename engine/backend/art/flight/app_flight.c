#include "engine/backend/art/flight/app_flight.h"

#include "engine/backend/art/app.h"
#include "engine/backend/art/monitor.h"
#include "engine/backend/art/own_thread.h"
#include "engine/backend/linux/lock_holder.h"
#include "engine/backend/linux/word_wait.h"
#include "engine/flight/flight_signals.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the thread */

static void (*flight_work)(void);

static uint32_t art_flight_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

/* The thread blocks all signals, so it could not be held while code is patched: it begins after the hooks are installed
 * and ends before they are removed. */
static void art_flight_work(void)
{
    flight_work();
}

static struct strobe_art_own flight_own = {.name = "strobe-flight", .work = art_flight_work};

static bool run_art_flight_thread(void (*work)(void))
{
    static bool forks_watched;
    struct strobe_error error;
    if (!forks_watched)
        forks_watched = pthread_atfork(NULL, NULL, strobe_flight_child) == 0;
    flight_work = work;
    return strobe_art_own_begin(&flight_own, strobe_art.vm, &error);
}

static void end_art_flight_thread(void)
{
    strobe_art_own_end(&flight_own);
}

/* ---- locks */

/* The owner is read from the runtime's Monitor. The waiting thread keeps the Monitor alive as long as it waits; the
 * safe read bears it when it does not. */
static uint32_t find_monitor_holder(uint64_t monitor)
{
    const struct strobe_host *h = &strobe_art.host.linux.host;
    uint16_t at = strobe_art_monitor.owner_offset;
    void *owner = NULL;
    size_t copied;
    if (!at || h->read(h->ctx, monitor + at, &owner, sizeof owner, &copied) != STROBE_OK || copied != sizeof owner)
        return 0;
    return owner ? strobe_art_threads_find(strobe_art.threads, owner) : 0;
}

static void find_art_holder(uint32_t thread, uint64_t *what, uint32_t *holder_tid)
{
    const struct strobe_thread *t = &strobe_art.engine.threads[thread];
    if (!strobe_load_acquire(&t->ready) || !strobe_load_acquire(&t->entry->scope_begin_ticks))
        return;
    uint32_t kind = strobe_load_relaxed(&t->entry->scope_kind);
    *what = strobe_load_relaxed(&t->scope_arg);
    *holder_tid = kind == STROBE_KIND_MONITOR ? find_monitor_holder(*what)
                                              : strobe_linux_lock_holder(&strobe_art.host.linux.host, kind, *what);
}

/* ---- the device */

static uint32_t read_property_number(int (*get)(const char *, char *), const char *name)
{
    char text[STROBE_FLIGHT_MODEL_BYTES] = "";
    uint32_t number = 0;
    if (get(name, text) > 0)
        for (const char *at = text; *at >= '0' && *at <= '9'; at++)
            number = 10 * number + (uint32_t)(*at - '0');
    return number;
}

static void read_art_device(struct strobe_flight_device *out)
{
    int (*get)(const char *, char *);
    *(void **)&get = dlsym(RTLD_DEFAULT, "__system_property_get");
    if (!get)
        return;
    if (get("ro.product.model", out->model) <= 0)
        out->model[0] = '\0';
    out->level = read_property_number(get, "ro.build.version.sdk");
}

/* ---- signals */

/* struct linux_dirent64 of getdents64(2). */
struct task_entry {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static bool is_signal_catcher(const char *task)
{
    char path[64], name[17] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", task);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    long n = fd < 0 ? 0 : read(fd, name, sizeof name - 1);
    if (fd >= 0)
        close(fd);
    return n > 0 && !strcmp(name, "Signal Catcher\n");
}

/* Returns the thread of the runtime that waits for SIGQUIT, or 0. */
static uint32_t find_signal_catcher(void)
{
    _Alignas(struct task_entry) char list[4096];
    uint32_t found = 0;
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (long got; fd >= 0 && (got = syscall(SYS_getdents64, fd, list, sizeof list)) > 0;)
        for (long at = 0; at < got;) {
            const struct task_entry *e = (const void *)(list + at);
            at += e->bytes;
            uint32_t tid = 0;
            for (const char *c = e->name; *c >= '0' && *c <= '9'; c++)
                tid = 10 * tid + (uint32_t)(*c - '0');
            if (tid && is_signal_catcher(e->name))
                found = tid;
        }
    if (fd >= 0)
        close(fd);
    return found;
}

static void watch_art_signals(struct strobe_flight *f)
{
    if (f->config.triggers >> STROBE_TRIGGER_CRASH & 1)
        strobe_flight_watch_crashes(f, sigaction);
    if (f->config.triggers >> STROBE_TRIGGER_ANR & 1 && art_flight_tid() == (uint32_t)getpid())
        strobe_flight_watch_quit(f, sigaction, find_signal_catcher());
}

const struct strobe_flight_backend strobe_art_flight = {
    .ticks = strobe_art_now,
    .wait = strobe_linux_wait,
    .wake = strobe_linux_wake,
    .blocked_on = find_art_holder,
    .refresh = strobe_art_renew_thread_names,
    .complete = strobe_art_name_running,
    .run_thread = run_art_flight_thread,
    .end_thread = end_art_flight_thread,
    .thread_id = art_flight_tid,
    .read_device = read_art_device,
    .watch_signals = watch_art_signals,
    .leave_signals = strobe_flight_leave_signals,
};

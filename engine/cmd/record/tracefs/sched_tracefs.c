#include "engine/cmd/record/tracefs/sched_tracefs.h"

#include "engine/base/error_format.h"
#include "engine/cmd/record/sched_perf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NAME_BYTES = 192, READS_MOST = 1024 };
static const uint64_t IN_TRANSIT_NS = 1000000; /* from an event's time to when it can be read, at most */
static const uint64_t HELD_NS = 100000000;     /* how long a thread that was found runnable is held (sched_text.h) */
static const char *const tracefs_folders[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
enum { TRACEFS_FOLDERS = sizeof tracefs_folders / sizeof *tracefs_folders };

static uint64_t boottime_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- files of the instance */

/* Writes to a file of the instance. */
static bool write_instance(const struct strobe_sched_tracefs *t, const char *name, const char *text)
{
    char path[NAME_BYTES];
    snprintf(path, sizeof path, "%s/%s", t->instance, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return ok;
}

/* The instance inherits options of the text's form from the machine's user. Kernels lack some of these options. A full
 * buffer keeps its events, because the begin of a recording has the creation of most threads. */
static void set_options(const struct strobe_sched_tracefs *t)
{
    static const char *const options[] = {
        "nobin",   "noraw",        "nohex",    "noverbose",  "nofields", "nolatency-format",
        "noblock", "context-info", "irq-info", "nooverwrite"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        write_instance(t, "trace_options", options[i]);
}

/* The instance has events of all processes. With set_event_pid the kernel would decide at each reported switch which
 * events of the processor to record. After a switch that it does not report (sched_text.h) it could leave out events of
 * the thread, and the lines from which the thread of a processor is known. */
static bool set_up_instance(const struct strobe_sched_tracefs *t, const char **what)
{
    static const char *const events[] = {
        "events/task/task_newtask/enable",        "events/sched/sched_process_exec/enable",
        "events/sched/sched_process_exit/enable", "events/sched/sched_waking/enable",
        "events/sched/sched_switch/enable",
    };
    set_options(t);
    if (!write_instance(t, *what = "trace_clock", "boot") || !write_instance(t, *what = "buffer_size_kb", "1024"))
        return false;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (!write_instance(t, *what = events[i], "1"))
            return false;
    return true;
}

/* Makes the directory of the instance. An instance with this process's id is of an earlier process. */
static bool make_instance(struct strobe_sched_tracefs *t, struct strobe_error *why)
{
    for (int i = 0; i < TRACEFS_FOLDERS; i++) {
        snprintf(t->instance, sizeof t->instance, "%s/instances/strobe-%d", tracefs_folders[i], (int)getpid());
        rmdir(t->instance);
        if (mkdir(t->instance, 0700) == 0)
            return true;
        if (!i)
            strobe_error_set(why, "tracefs: %s/instances: %s%s", tracefs_folders[i], strerror(errno),
                             errno == ENOENT ? "; `mount -t tracefs none /sys/kernel/tracing` makes it" : "");
        if (errno != ENOENT)
            break;
    }
    t->instance[0] = '\0';
    return false;
}

static enum strobe_status open_instance(struct strobe_sched_tracefs *t, uint32_t only_pid, struct strobe_error *why)
{
    const char *what = "";
    char path[NAME_BYTES];
    *t = (struct strobe_sched_tracefs){.pipe = -1, .text.family = &t->family};
    t->family = (struct strobe_sched_family){.only_pid = only_pid, .file = -1};
    t->visitor = (struct strobe_ftrace_visitor){.ctx = &t->text, .event = strobe_sched_text_take};
    strobe_ftrace_text_open(&t->reader, &t->visitor);
    if (!strobe_sched_perf_has_own_ids()) {
        strobe_error_set(why, "tracefs has thread ids of another PID namespace");
        return STROBE_UNSUPPORTED;
    }
    if (!make_instance(t, why))
        return STROBE_UNSUPPORTED;
    if (set_up_instance(t, &what)) {
        snprintf(path, sizeof path, "%s/%s", t->instance, what = "trace_pipe");
        t->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    }
    if (t->pipe >= 0)
        return STROBE_OK;
    strobe_error_set(why, "tracefs: %s/%s: %s", t->instance, what, strerror(errno));
    strobe_sched_tracefs_close(t);
    return STROBE_UNSUPPORTED;
}

enum strobe_status strobe_sched_tracefs_open(struct strobe_sched_tracefs *t, pid_t pid, bool family,
                                             struct strobe_error *why)
{
    enum strobe_status status = open_instance(t, family ? 0 : (uint32_t)pid, why);
    if (status != STROBE_OK)
        return status;
    t->text.awaited = (uint32_t)pid;
    if (strobe_sched_text_know(&t->text, (uint32_t)pid, (uint32_t)pid))
        return STROBE_OK;
    strobe_sched_tracefs_close(t);
    errno = ENOMEM;
    return STROBE_IO;
}

/* ---- a process that runs */

/* Adds a thread with what it does. Its events come from then on. */
static bool add_running_thread(struct strobe_sched_tracefs *t, pid_t pid, pid_t tid)
{
    struct strobe_sched_note n = {.pid = (uint32_t)pid, .kind = STROBE_SCHED_FOUND};
    n.event = (struct strobe_sched_event){.time_ns = boottime_now_ns(), .tid = (uint32_t)tid, .what = STROBE_SCHED_OUT};
    if (!strobe_sched_text_know(&t->text, (uint32_t)pid, (uint32_t)tid)) {
        errno = ENOMEM;
        return false;
    }
    unsigned cpu = 0;
    char state = strobe_sched_read_task(pid, tid, &cpu);
    if (state == 'R') {
        n.event.what = STROBE_SCHED_IN;
        n.event.cpu = (uint16_t)(cpu < STROBE_SCHED_CPUS_MAX ? cpu : 0);
        return strobe_sched_text_hold(&t->text, &n);
    }
    n.event.state = (uint8_t)strobe_sched_state_of(&state, 1);
    if (state)
        strobe_sched_family_add(&t->family, &n);
    return true;
}

static void read_pipe_to_end(struct strobe_sched_tracefs *t);

/* Adds the threads that are not known, and stores their number. */
static bool add_running_threads(struct strobe_sched_tracefs *t, pid_t pid, size_t *added)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    bool ok = d != NULL;
    *added = 0;
    for (struct dirent *e; ok && (e = readdir(d)) != NULL;) {
        long tid = strtol(e->d_name, NULL, 10);
        read_pipe_to_end(t); /* with the creation of threads that are known then */
        if (tid > 0 && tid <= INT_MAX && !strobe_sched_text_knows(&t->text, (uint32_t)tid)) {
            ok = add_running_thread(t, pid, (pid_t)tid);
            ++*added;
        }
    }
    int error = errno;
    if (d)
        closedir(d);
    errno = error;
    return ok;
}

/* Two lists without an unknown thread end the search, as in sched_threads.c. */
enum strobe_status strobe_sched_tracefs_attach(struct strobe_sched_tracefs *t, pid_t pid, struct strobe_error *why)
{
    enum { LISTS_MOST = 100, ALIKE = 2 };
    enum strobe_status status = open_instance(t, (uint32_t)pid, why);
    if (status != STROBE_OK)
        return status;
    int alike = 0;
    for (int i = 0; i < LISTS_MOST && alike < ALIKE && status == STROBE_OK; i++) {
        size_t added;
        if (!add_running_threads(t, pid, &added))
            status = STROBE_IO;
        alike = added ? 0 : alike + 1;
    }
    if (status == STROBE_OK && alike < ALIKE) {
        strobe_error_set(why, "tracefs: the program creates threads faster than they are found");
        status = STROBE_UNSUPPORTED;
    }
    t->held_until_ns = boottime_now_ns() + HELD_NS;
    if (status != STROBE_OK)
        strobe_sched_tracefs_close(t);
    return status;
}

/* ---- events */

/* Reads until nothing is left, at most READS_MOST times. Returns whether nothing is left. */
static bool read_pipe_some(struct strobe_sched_tracefs *t)
{
    static char text[1 << 16];
    for (int i = 0; i < READS_MOST; i++) {
        ssize_t n = read(t->pipe, text, sizeof text);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return true;
        strobe_ftrace_text_feed(&t->reader, text, (size_t)n);
    }
    return false;
}

static void read_pipe_to_end(struct strobe_sched_tracefs *t)
{
    while (!read_pipe_some(t))
        continue;
}

void strobe_sched_tracefs_drain(struct strobe_sched_tracefs *t)
{
    uint64_t begin_ns = boottime_now_ns();
    uint64_t until_ns = read_pipe_some(t) ? begin_ns : t->text.last_ns;
    if (t->text.held_count && until_ns > t->held_until_ns + IN_TRANSIT_NS)
        strobe_sched_text_release(&t->text);
    if (!t->text.held_count)
        strobe_sched_family_pass(&t->family, until_ns - IN_TRANSIT_NS);
}

/* Returns the events that a processor's buffer had no space for. */
static uint64_t count_lost_of(const struct strobe_sched_tracefs *t, long cpu)
{
    static const char *const names[] = {"overrun: %" SCNu64, "commit overrun: %" SCNu64, "dropped events: %" SCNu64};
    char path[NAME_BYTES], line[128];
    uint64_t lost = 0, n;
    snprintf(path, sizeof path, "%s/per_cpu/cpu%ld/stats", t->instance, cpu);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            lost += sscanf(line, names[i], &n) == 1 ? n : 0;
    if (f)
        fclose(f);
    return lost;
}

/* The text names losses only before the next event of that processor, so it lacks those at the end. */
static void count_lost(struct strobe_sched_tracefs *t)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    for (long cpu = 0; cpu < cpus; cpu++)
        t->lost += count_lost_of(t, cpu);
    if (t->lost < t->reader.lost_events)
        t->lost = t->reader.lost_events;
}

static void remove_instance(struct strobe_sched_tracefs *t)
{
    if (t->pipe >= 0)
        close(t->pipe);
    t->pipe = -1;
    if (t->instance[0])
        rmdir(t->instance);
    t->instance[0] = '\0';
}

void strobe_sched_tracefs_end(struct strobe_sched_tracefs *t)
{
    if (t->ended)
        return;
    write_instance(t, "tracing_on", "0");
    read_pipe_to_end(t);
    count_lost(t);
    remove_instance(t);
    strobe_sched_text_release(&t->text);
    if (t->reader.failed && !t->family.error)
        t->family.error = ENOMEM;
    strobe_sched_family_finish(&t->family);
    t->ended = true;
}

void strobe_sched_tracefs_close(struct strobe_sched_tracefs *t)
{
    int error = errno;
    remove_instance(t);
    strobe_ftrace_text_close(&t->reader);
    strobe_sched_text_free(&t->text);
    strobe_sched_family_close(&t->family);
    errno = error;
}

/* ---- instances of killed recorders */

static size_t visit_left_in(const char *folder, bool removes, char path[STROBE_SCHED_INSTANCE_BYTES])
{
    char instances[STROBE_SCHED_INSTANCE_BYTES], found[STROBE_SCHED_INSTANCE_BYTES];
    size_t count = 0;
    int pid;
    snprintf(instances, sizeof instances, "%s/instances", folder);
    DIR *d = opendir(instances);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (sscanf(e->d_name, "strobe-%d", &pid) != 1 || pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH)
            continue;
        snprintf(found, sizeof found, "%s/instances/strobe-%d", folder, pid);
        if (strcmp(strrchr(found, '/') + 1, e->d_name) != 0)
            continue;
        if (removes && rmdir(found) != 0)
            continue;
        memcpy(path, found, sizeof found);
        count++;
    }
    if (d)
        closedir(d);
    return count;
}

size_t strobe_sched_tracefs_visit_left(bool removes, char path[STROBE_SCHED_INSTANCE_BYTES])
{
    size_t count = 0;
    path[0] = '\0';
    if (!strobe_sched_perf_has_own_ids())
        return 0;
    for (int i = 0; i < TRACEFS_FOLDERS && !count; i++)
        count = visit_left_in(tracefs_folders[i], removes, path);
    return count;
}

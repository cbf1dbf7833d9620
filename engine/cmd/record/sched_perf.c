#include "engine/cmd/record/sched_perf.h"

#include "engine/base/error_format.h"
#include "engine/store/session.h"
#include "engine/util/array.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    RING_BYTES_MOST = 1 << 18, /* of each processor; with its head less than the 516 KiB that kernels allow */
    RING_BYTES_LEAST = 1 << 14,
    FIELD_OFFSET_MOST = 4096,
    RECORD_BYTES_MOST = 1 << 16,
    BLOCK_EVENTS = 4096,
    EVENTS_MOST = 1 << 24, /* that are kept: 384 MiB */
    TRACEPOINTS = 2,
};
static const uint64_t IN_FLIGHT_NS = 1000000; /* from a record's time to when it is in its buffer, at most */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu       /* its inode: PROC_PID_INIT_INO of include/linux/proc_ns.h */

struct strobe_sched_ring {
    int cpu, fd, tracepoints[TRACEPOINTS];
    struct perf_event_mmap_page *head; /* a page, followed by the records */
    size_t bytes;                      /* of the records */
    uint32_t out_tid;                  /* the last sched_switch was of this thread, in that state; 0 = none */
    uint64_t out_state;
};

struct strobe_sched_pending {
    struct strobe_sched_event event;
    uint32_t order;
    bool begins; /* a WAKE: of a new thread; an IN: of a new program, whose other threads have ended */
};

/* What a thread does, by its events so far. */
enum task_state { TASK_NEW, TASK_RUNS, TASK_SLEEPS, TASK_READY, TASK_ENDED };

struct strobe_sched_task {
    uint32_t tid;
    enum task_state state;
};

/* Fields at the end of each record: sample_type TID, TIME, CPU. */
struct record_id {
    uint32_t pid, tid;
    uint64_t time_ns;
    uint32_t cpu, zero;
};

/* ---- opening */

/* Kernels before 6.0 do not count what is lost per event, and kernels before 5.13 know no inheritance by threads only.
 * Records of child processes are then left out later. */
static int open_perf_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
    int fd = -1;
    attr->size = sizeof *attr;
    for (int older = 0; older < 3 && fd < 0 && (!older || errno == EINVAL); older++) {
        attr->read_format = older < 1 ? PERF_FORMAT_LOST : 0;
        attr->inherit_thread = older < 2 && attr->inherit;
        fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    }
    return fd;
}

/* Sets what the dummy event and the tracepoints have in common. Events of one buffer have one clock, and tracepoints
 * cannot have CLOCK_BOOTTIME. */
static void set_common_attributes(struct perf_event_attr *attr)
{
    *attr = (struct perf_event_attr){.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
                                     .disabled = 1,
                                     .enable_on_exec = 1,
                                     .inherit = 1,
                                     .sample_id_all = 1,
                                     .use_clockid = 1,
                                     .clockid = CLOCK_MONOTONIC};
}

static int open_switch_records(pid_t pid, int cpu)
{
    struct perf_event_attr attr;
    set_common_attributes(&attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.exclude_kernel = 1; /* all that perf_event_paranoid 2 allows */
    attr.exclude_hv = 1;
    attr.context_switch = 1;
    attr.task = 1;
    attr.comm = 1;
    attr.comm_exec = 1;
    attr.watermark = 1;
    attr.wakeup_watermark = RING_BYTES_MOST / 4;
    return open_perf_event(&attr, pid, cpu);
}

static bool map_ring(struct strobe_sched_ring *r)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t bytes = RING_BYTES_MOST; bytes >= RING_BYTES_LEAST && bytes >= page; bytes /= 2) {
        void *memory = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
        if (memory != MAP_FAILED) {
            r->head = memory;
            r->bytes = bytes;
            return true;
        }
        if (errno != EPERM && errno != ENOMEM)
            return false;
    }
    return false;
}

static void say_refused(struct strobe_error *why, const char *what)
{
    char level[16] = "";
    int error = errno;
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (f && !fgets(level, sizeof level, f))
        level[0] = '\0';
    if (f)
        fclose(f);
    level[strcspn(level, "\n")] = '\0';
    strobe_error_set(why, "%s: %s%s%s", what, strerror(error),
                     level[0] ? "; kernel.perf_event_paranoid is " : "; the kernel has no perf events", level);
    errno = error;
}

/* Processors that are off line, or beyond those that exist, have no event. */
static enum strobe_status open_rings(struct strobe_sched_perf *p, pid_t pid, struct strobe_error *why)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    cpus = cpus < 1 ? 1 : cpus > STROBE_SCHED_CPUS_MAX ? STROBE_SCHED_CPUS_MAX : cpus;
    p->rings = calloc((size_t)cpus, sizeof *p->rings);
    p->polled = calloc((size_t)cpus + 1, sizeof *p->polled);
    if (!p->rings || !p->polled) {
        errno = ENOMEM;
        return STROBE_IO;
    }
    for (int cpu = 0; cpu < cpus; cpu++) {
        struct strobe_sched_ring *r = &p->rings[p->ring_count];
        *r = (struct strobe_sched_ring){.cpu = cpu, .fd = open_switch_records(pid, cpu), .tracepoints = {-1, -1}};
        if (r->fd < 0 && errno == ENODEV)
            continue;
        if (r->fd < 0) {
            say_refused(why, "perf_event_open");
            return STROBE_UNSUPPORTED;
        }
        p->ring_count++;
        if (!map_ring(r)) {
            say_refused(why, "memory for perf events (kernel.perf_event_mlock_kb)");
            return STROBE_UNSUPPORTED;
        }
        p->polled[p->ring_count] = (struct pollfd){.fd = r->fd, .events = POLLIN};
    }
    return STROBE_OK;
}

/* ---- tracepoints */

/* Parses a line such as `field:pid_t pid;  offset:24;  size:4;  signed:1;`. */
static void take_format_line(const char *line, struct strobe_sched_tracepoint *t, bool waking)
{
    struct {
        const char *name;
        struct strobe_sched_field *field;
    } fields[] = {{"common_flags;", &t->common_flags},
                  {"common_pid;", &t->common_pid},
                  {waking ? "pid;" : "prev_pid;", &t->pid},
                  {waking ? "" : "prev_state;", &t->state}};
    unsigned offset, bytes;
    const char *end = strchr(line, ';'), *name = end, *at;
    sscanf(line, "ID: %" SCNu32, &t->id);
    if (!end || !(at = strstr(end, "offset:")) || sscanf(at, "offset:%u;\tsize:%u;", &offset, &bytes) != 2)
        return;
    while (name > line && name[-1] != ' ')
        name--;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (!strncmp(name, fields[i].name, (size_t)(end + 1 - name)) &&
            strlen(fields[i].name) == (size_t)(end + 1 - name) && offset < FIELD_OFFSET_MOST && bytes <= 8)
            *fields[i].field = (struct strobe_sched_field){offset, bytes};
}

static bool read_format(const char *folder, const char *name, struct strobe_sched_tracepoint *t, bool waking)
{
    char path[128], line[256];
    snprintf(path, sizeof path, "%s/events/sched/%s/format", folder, name);
    *t = (struct strobe_sched_tracepoint){.id = 0};
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    while (fgets(line, sizeof line, f))
        take_format_line(line, t, waking);
    fclose(f);
    errno = EINVAL; /* a format that is not known */
    return t->id && t->common_flags.bytes && t->common_pid.bytes && t->pid.bytes && (waking || t->state.bytes);
}

static bool read_formats(struct strobe_sched_perf *p, struct strobe_error *why)
{
    static const char *const folders[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    uint64_t namespace = strobe_session_namespace();
    if (namespace && namespace != FIRST_PID_NAMESPACE) {
        strobe_error_set(why, "tracepoints have thread ids of another PID namespace");
        return false;
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (read_format(folders[i], "sched_switch", &p->switched, false) &&
            read_format(folders[i], "sched_waking", &p->waking, true))
            return true;
        else if (!i)
            strobe_error_set(why, "%s/events/sched: %s%s", folders[i], strerror(errno),
                             errno == ENOENT ? "; `mount -t tracefs none /sys/kernel/tracing` makes it" : "");
    return false;
}

/* sched_switch is an event of the process. sched_waking is one of all processes: a thread that sleeps is woken by
 * others, and its own events do not see that. Wake-ups of other processes are left out later. */
static bool open_tracepoint(const struct strobe_sched_ring *r, pid_t pid, uint32_t id, int *fd)
{
    struct perf_event_attr attr;
    set_common_attributes(&attr);
    if (pid < 0)
        attr.disabled = attr.enable_on_exec = attr.inherit = 0;
    attr.type = PERF_TYPE_TRACEPOINT;
    attr.config = id;
    attr.sample_period = 1;
    attr.sample_type |= PERF_SAMPLE_RAW;
    *fd = open_perf_event(&attr, pid, r->cpu);
    return *fd >= 0 && ioctl(*fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) == 0;
}

static void close_tracepoints(struct strobe_sched_ring *r)
{
    for (int i = 0; i < TRACEPOINTS; i++) {
        if (r->tracepoints[i] >= 0)
            close(r->tracepoints[i]);
        r->tracepoints[i] = -1;
    }
}

/* Opens the tracepoints of all processors, or none. */
static void open_tracepoints(struct strobe_sched_perf *p, pid_t pid)
{
    size_t done = 0;
    if (!read_formats(p, &p->limit))
        return;
    for (bool all = true; all && done < p->ring_count;) {
        struct strobe_sched_ring *r = &p->rings[done];
        all = open_tracepoint(r, pid, p->switched.id, &r->tracepoints[0]) &&
              open_tracepoint(r, -1, p->waking.id, &r->tracepoints[1]);
        done += all;
    }
    if (done == p->ring_count) {
        p->source = STROBE_SCHED_BY_TRACEPOINTS;
        return;
    }
    say_refused(&p->limit, "tracepoints");
    for (size_t i = 0; i < p->ring_count; i++)
        close_tracepoints(&p->rings[i]);
}

enum strobe_status strobe_sched_perf_open(struct strobe_sched_perf *p, pid_t pid, struct strobe_error *why)
{
    *p = (struct strobe_sched_perf){.source = STROBE_SCHED_BY_SWITCHES, .pid = (uint32_t)pid, .file = -1};
    enum strobe_status status = open_rings(p, pid, why);
    if (status == STROBE_OK)
        open_tracepoints(p, pid);
    else
        strobe_sched_perf_close(p);
    return status;
}

enum strobe_status strobe_sched_perf_create_file(struct strobe_sched_perf *p, const char *beside)
{
    char path[PATH_MAX + 16];
    const char *slash = strrchr(beside, '/');
    snprintf(path, sizeof path, "%.*s", slash ? (int)(slash - beside) : 1, slash ? beside : ".");
    p->file = open(path[0] ? path : "/", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (p->file < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
        snprintf(path, sizeof path, "%s.XXXXXX", beside);
        p->file = mkostemp(path, O_CLOEXEC);
        if (p->file >= 0)
            unlink(path);
    }
    p->block = p->file >= 0 ? malloc(BLOCK_EVENTS * sizeof *p->block) : NULL;
    return p->block ? STROBE_OK : STROBE_IO;
}

void strobe_sched_perf_close(struct strobe_sched_perf *p)
{
    int error = errno;
    for (size_t i = 0; i < p->ring_count; i++) {
        close_tracepoints(&p->rings[i]);
        if (p->rings[i].head)
            munmap(p->rings[i].head, p->rings[i].bytes + (size_t)sysconf(_SC_PAGESIZE));
        close(p->rings[i].fd);
    }
    if (p->file >= 0)
        close(p->file);
    free(p->rings);
    free(p->polled);
    free(p->pending);
    free(p->tasks);
    free(p->block);
    strobe_idmap_free(&p->by_tid);
    *p = (struct strobe_sched_perf){.file = -1};
    errno = error;
}

/* ---- the file of events */

static void write_event_block(struct strobe_sched_perf *p)
{
    const char *at = (const char *)p->block;
    for (size_t left = p->block_count * sizeof *p->block; left && !p->error;) {
        ssize_t n = write(p->file, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            p->error = n < 0 ? errno : ENOSPC;
            return;
        }
        at += n;
        left -= (size_t)n;
    }
    p->head.count += p->block_count;
    p->block_count = 0;
}

static void keep_event(struct strobe_sched_perf *p, const struct strobe_sched_event *e)
{
    if (p->head.count + p->block_count >= EVENTS_MOST || p->error) {
        p->head.refused++;
        return;
    }
    p->block[p->block_count++] = *e;
    if (p->block_count == BLOCK_EVENTS)
        write_event_block(p);
}

/* Returns the thread. A thread that ended comes to life again when its id is used anew. NULL: out of memory. */
static struct strobe_sched_task *find_sched_task(struct strobe_sched_perf *p, uint32_t tid, bool make)
{
    int fresh;
    uint32_t *index = make ? strobe_idmap_put(&p->by_tid, tid, 0, &fresh) : strobe_idmap_get(&p->by_tid, tid, 0);
    if (!make)
        return index ? &p->tasks[*index] : NULL;
    if (!index || (fresh && !strobe_array_reserve(&p->tasks, &p->task_room, p->task_count + 1))) {
        p->error = ENOMEM;
        return NULL;
    }
    if (fresh) {
        *index = (uint32_t)p->task_count;
        p->tasks[p->task_count++] = (struct strobe_sched_task){tid, TASK_NEW};
    }
    return &p->tasks[*index];
}

/* A thread that executes a program gets the id of the first thread; the others have ended. */
static void end_other_tasks(struct strobe_sched_perf *p, const struct strobe_sched_event *begin)
{
    struct strobe_sched_event end = {.time_ns = begin->time_ns, .cpu = begin->cpu, .what = STROBE_SCHED_END};
    for (size_t i = 0; i < p->task_count; i++) {
        if (p->tasks[i].tid == begin->tid || p->tasks[i].state == TASK_ENDED)
            continue;
        p->tasks[i].state = TASK_ENDED;
        end.tid = p->tasks[i].tid;
        keep_event(p, &end);
    }
}

/* Takes the next event by time. An event that does not follow from the thread's state is left out: a second wake-up,
 * which the kernel reports once for each of two threads of the process, or what is behind a lost record. */
static void take_in_order(struct strobe_sched_perf *p, const struct strobe_sched_event *e, bool begins)
{
    struct strobe_sched_task *t = find_sched_task(p, e->tid, e->what != STROBE_SCHED_WAKE || begins);
    if (!t)
        return;
    if (e->what == STROBE_SCHED_IN && begins)
        end_other_tasks(p, e);
    enum task_state was = t->state;
    switch (e->what) {
    case STROBE_SCHED_IN:
        t->state = TASK_RUNS;
        if (was == TASK_RUNS)
            return;
        break;
    case STROBE_SCHED_OUT:
        t->state = e->state == STROBE_SCHED_RUNNABLE ? TASK_READY : TASK_SLEEPS;
        if (was != TASK_RUNS)
            return;
        break;
    case STROBE_SCHED_WAKE:
        if (!begins && (was == TASK_RUNS || was == TASK_READY || was == TASK_ENDED))
            return;
        t->state = TASK_READY;
        break;
    default:
        t->state = TASK_ENDED;
        if (was == TASK_ENDED)
            return;
    }
    keep_event(p, e);
}

static int by_pending_time(const void *a, const void *b)
{
    const struct strobe_sched_pending *v = a, *w = b;
    if (v->event.time_ns != w->event.time_ns)
        return v->event.time_ns < w->event.time_ns ? -1 : 1;
    return v->order < w->order ? -1 : v->order > w->order;
}

/* Passes on the events before `before_ns`, in order. Later ones stay: another processor's buffer may still get an
 * earlier one. */
static void pass_events_in_order(struct strobe_sched_perf *p, uint64_t before_ns)
{
    size_t done = 0;
    qsort(p->pending, p->pending_count, sizeof *p->pending, by_pending_time);
    while (done < p->pending_count && p->pending[done].event.time_ns < before_ns) {
        take_in_order(p, &p->pending[done].event, p->pending[done].begins);
        done++;
    }
    if (done)
        memmove(p->pending, p->pending + done, (p->pending_count - done) * sizeof *p->pending);
    p->pending_count -= done;
    for (size_t i = 0; i < p->pending_count; i++)
        p->pending[i].order = (uint32_t)i;
}

/* ---- records */

static void add_pending(struct strobe_sched_perf *p, const struct record_id *id, uint32_t tid,
                        enum strobe_sched_what what, struct strobe_sched_event more, bool begins)
{
    if (!tid || id->cpu >= STROBE_SCHED_CPUS_MAX)
        return;
    if (!strobe_array_reserve(&p->pending, &p->pending_room, p->pending_count + 1)) {
        p->error = ENOMEM;
        return;
    }
    more.time_ns = id->time_ns + p->boot_ahead_ns;
    more.tid = tid;
    more.cpu = (uint16_t)id->cpu;
    more.what = (uint8_t)what;
    p->pending[p->pending_count] = (struct strobe_sched_pending){more, (uint32_t)p->pending_count, begins};
    p->pending_count++;
}

static const struct strobe_sched_event nothing_more;

static uint64_t raw_field(const uint8_t *raw, size_t bytes, struct strobe_sched_field f)
{
    uint64_t value = 0;
    if (f.offset <= bytes && f.bytes <= bytes - f.offset)
        memcpy(&value, raw + f.offset, f.bytes);
    return value;
}

static void take_tracepoint(struct strobe_sched_perf *p, struct strobe_sched_ring *r, const uint8_t *record,
                            size_t bytes)
{
    enum { IRQS = 0x18 }; /* of common_flags: in a hard or soft interrupt */
    struct record_id id;
    uint32_t raw_bytes;
    const size_t at = sizeof(struct perf_event_header) + sizeof id + sizeof raw_bytes;
    if (bytes < at)
        return;
    memcpy(&id, record + sizeof(struct perf_event_header), sizeof id);
    memcpy(&raw_bytes, record + at - sizeof raw_bytes, sizeof raw_bytes);
    const uint8_t *raw = record + at;
    raw_bytes = raw_bytes < bytes - at ? raw_bytes : (uint32_t)(bytes - at);
    uint64_t type = raw_field(raw, raw_bytes, (struct strobe_sched_field){0, 2});
    if (type == p->switched.id) {
        r->out_tid = (uint32_t)raw_field(raw, raw_bytes, p->switched.pid);
        r->out_state = raw_field(raw, raw_bytes, p->switched.state);
    } else if (type == p->waking.id) {
        uint64_t flags = raw_field(raw, raw_bytes, p->waking.common_flags);
        add_pending(p, &id, (uint32_t)raw_field(raw, raw_bytes, p->waking.pid), STROBE_SCHED_WAKE,
                    (struct strobe_sched_event){
                        .other = (uint32_t)raw_field(raw, raw_bytes, p->waking.common_pid),
                        .flags = flags & IRQS ? STROBE_SCHED_IN_INTERRUPT : 0,
                    },
                    false);
    }
}

static void take_switch(struct strobe_sched_perf *p, struct strobe_sched_ring *r, const struct record_id *id,
                        uint16_t misc)
{
    struct strobe_sched_event more = {.state = STROBE_SCHED_SLEEPING};
    if (!(misc & PERF_RECORD_MISC_SWITCH_OUT)) {
        add_pending(p, id, id->tid, STROBE_SCHED_IN, nothing_more, false);
        return;
    }
    if (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) {
        more.state = STROBE_SCHED_RUNNABLE;
        more.flags = STROBE_SCHED_PREEMPTED;
    } else if (r->out_tid == id->tid) {
        more.state = (uint8_t)strobe_sched_state_of_number(r->out_state);
    }
    r->out_tid = 0;
    add_pending(p, id, id->tid, STROBE_SCHED_OUT, more, false);
}

/* FORK and EXIT: pid, parent's pid, tid, parent's tid, time. */
static void take_life(struct strobe_sched_perf *p, const struct record_id *id, uint32_t type, const uint8_t *record)
{
    uint32_t ids[4];
    memcpy(ids, record + sizeof(struct perf_event_header), sizeof ids);
    if (ids[0] != p->pid)
        return;
    if (type == PERF_RECORD_EXIT)
        add_pending(p, id, ids[2], STROBE_SCHED_END, nothing_more, false);
    else
        add_pending(p, id, ids[2], STROBE_SCHED_WAKE, (struct strobe_sched_event){.other = ids[3]}, true);
}

static void take_ring_record(struct strobe_sched_perf *p, struct strobe_sched_ring *r, const uint8_t *record,
                             size_t bytes)
{
    struct perf_event_header h;
    struct record_id id;
    uint64_t lost;
    memcpy(&h, record, sizeof h);
    if (h.type == PERF_RECORD_SAMPLE) {
        take_tracepoint(p, r, record, bytes);
        return;
    }
    if (bytes < sizeof h + sizeof id)
        return;
    memcpy(&id, record + bytes - sizeof id, sizeof id);
    switch (h.type) {
    case PERF_RECORD_LOST:
        if (bytes >= sizeof h + 2 * sizeof lost) {
            memcpy(&lost, record + sizeof h + sizeof lost, sizeof lost);
            p->head.lost += lost;
        }
        break;
    case PERF_RECORD_SWITCH:
        if (id.pid == p->pid)
            take_switch(p, r, &id, h.misc);
        break;
    case PERF_RECORD_COMM: /* the program begins: its first thread runs */
        if (h.misc & PERF_RECORD_MISC_COMM_EXEC && id.pid == p->pid)
            add_pending(p, &id, id.tid, STROBE_SCHED_IN, nothing_more, true);
        break;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        if (bytes >= sizeof h + 24 + sizeof id)
            take_life(p, &id, h.type, record);
        break;
    default: break;
    }
}

static void drain_ring(struct strobe_sched_perf *p, struct strobe_sched_ring *r)
{
    static uint8_t whole[RECORD_BYTES_MOST]; /* a record that is in two pieces */
    const uint8_t *data = (const uint8_t *)r->head + sysconf(_SC_PAGESIZE);
    uint64_t end = __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE), at = r->head->data_tail;
    while (end - at >= sizeof(struct perf_event_header)) {
        struct perf_event_header h;
        size_t from = at % r->bytes;
        memcpy(&h, data + from, sizeof h); /* records are aligned to 8 bytes, so their heads are in one piece */
        if (h.size < sizeof h || h.size > end - at)
            break;
        const uint8_t *record = data + from;
        if (h.size > r->bytes - from) {
            memcpy(whole, record, r->bytes - from);
            memcpy(whole + (r->bytes - from), data, h.size - (r->bytes - from));
            record = whole;
        }
        take_ring_record(p, r, record, h.size);
        at += h.size;
    }
    __atomic_store_n(&r->head->data_tail, end, __ATOMIC_RELEASE);
}

static uint64_t clock_now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Measures by how much CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC. That changes only while the machine is suspended, so
 * a small difference is an error of this measurement, and is not taken. */
static void update_boottime(struct strobe_sched_perf *p)
{
    const uint64_t least_change_ns = 1000000;
    uint64_t before = clock_now_ns(CLOCK_MONOTONIC), boot = clock_now_ns(CLOCK_BOOTTIME);
    uint64_t ahead = boot - before / 2 - clock_now_ns(CLOCK_MONOTONIC) / 2;
    if (!p->has_boot_ahead || ahead - p->boot_ahead_ns + least_change_ns > 2 * least_change_ns)
        p->boot_ahead_ns = ahead;
    p->has_boot_ahead = true;
}

/* Takes what the kernel itself counts as lost, where it does so. A record of losses comes only with the next record, so
 * those at the end have none. */
static void take_lost_counts(struct strobe_sched_perf *p)
{
    uint64_t lost = 0, count[2];
    for (size_t i = 0; i < p->ring_count; i++) {
        const int fds[] = {p->rings[i].fd, p->rings[i].tracepoints[0], p->rings[i].tracepoints[1]};
        for (size_t k = 0; k < sizeof fds / sizeof fds[0]; k++)
            lost += fds[k] >= 0 && read(fds[k], count, sizeof count) == sizeof count ? count[1] : 0;
    }
    p->head.lost = lost > p->head.lost ? lost : p->head.lost;
}

void strobe_sched_perf_drain(struct strobe_sched_perf *p, bool last)
{
    update_boottime(p);
    uint64_t begin_ns = clock_now_ns(CLOCK_BOOTTIME);
    for (size_t i = 0; i < p->ring_count; i++)
        drain_ring(p, &p->rings[i]);
    pass_events_in_order(p, last ? UINT64_MAX : begin_ns - IN_FLIGHT_NS);
    if (last) {
        take_lost_counts(p);
        write_event_block(p);
    }
}

/* A descriptor is hung up from when the first thread has ended. The buffers of the other threads are then emptied at
 * intervals. */
void strobe_sched_perf_wait(struct strobe_sched_perf *p, uint64_t most_ns)
{
    const uint64_t interval_ns = 20000000;
    bool hung_up = false;
    for (size_t i = 1; i <= p->ring_count; i++)
        hung_up |= p->polled[i].fd < 0;
    if (hung_up && most_ns > interval_ns)
        most_ns = interval_ns;
    struct timespec most = {(time_t)(most_ns / 1000000000), (long)(most_ns % 1000000000)};
    if (ppoll(p->polled, p->ring_count + 1, most_ns == UINT64_MAX ? NULL : &most, NULL) > 0)
        for (size_t i = 1; i <= p->ring_count; i++)
            if (p->polled[i].revents & (POLLHUP | POLLERR | POLLNVAL))
                p->polled[i].fd = -1;
    strobe_sched_perf_drain(p, false);
}

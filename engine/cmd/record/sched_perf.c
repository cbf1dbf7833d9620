#include "engine/cmd/record/sched_perf.h"

#include "engine/base/error_format.h"
#include "engine/store/session.h"
#include "engine/util/array.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stddef.h>
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
};
static const uint64_t IN_FLIGHT_NS = 1000000; /* from a record's time to when it is in its buffer, at most */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu       /* its inode: PROC_PID_INIT_INO of include/linux/proc_ns.h */

/* The buffer belongs to an event of this process that records nothing, so it outlives the recorded threads. */
struct strobe_sched_ring {
    int cpu, fd, waking_fd;            /* waking_fd: sched_waking of all processes; -1 = none */
    struct perf_event_mmap_page *head; /* a page, followed by the records */
    size_t bytes;                      /* of the records */
    uint32_t out_tid;                  /* the last sched_switch was of this thread, in that state; 0 = none */
    uint64_t out_state;
};

/* Fields at the end of each record: sample_type TID, TIME, CPU. */
struct record_id {
    uint32_t pid, tid;
    uint64_t time_ns;
    uint32_t cpu, zero;
};

/* What read(2) of an event gives. */
struct event_counts {
    uint64_t value, running_ns, lost;
};

/* ---- clocks */

static uint64_t clock_now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Measures by how much CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC. That changes only while the machine is suspended, so
 * a small difference is an error of this measurement, and is not taken. Of five measurements, the shortest one counts.
 */
static void update_boottime(struct strobe_sched_perf *p)
{
    const uint64_t least_change_ns = 1000000;
    uint64_t ahead = 0, shortest = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = clock_now_ns(CLOCK_MONOTONIC), boot = clock_now_ns(CLOCK_BOOTTIME);
        uint64_t took = clock_now_ns(CLOCK_MONOTONIC) - before;
        if (took < shortest) {
            shortest = took;
            ahead = boot - before - took / 2;
        }
    }
    if (!p->has_boot_ahead || ahead - p->boot_ahead_ns + least_change_ns > 2 * least_change_ns)
        p->boot_ahead_ns = ahead;
    p->has_boot_ahead = true;
}

uint64_t strobe_sched_perf_now_ns(const struct strobe_sched_perf *p)
{
    return clock_now_ns(CLOCK_MONOTONIC) + p->boot_ahead_ns;
}

/* ---- opening */

/* Kernels before 6.0 do not count what is lost per event, and kernels before 5.13 know no inheritance by threads only.
 * Records of child processes are then left out later. */
static int open_perf_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
    int fd = -1;
    bool threads_only = attr->inherit_thread;
    attr->size = sizeof *attr;
    for (int older = 0; older < 3 && fd < 0 && (!older || errno == EINVAL); older++) {
        attr->read_format = PERF_FORMAT_TOTAL_TIME_RUNNING | (older < 1 ? PERF_FORMAT_LOST : 0);
        attr->inherit_thread = threads_only && older < 2;
        fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    }
    return fd;
}

/* Sets what all events have in common. Events of one buffer have one clock, and tracepoints cannot have
 * CLOCK_BOOTTIME. */
static void set_common_attributes(struct perf_event_attr *attr)
{
    *attr = (struct perf_event_attr){.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
                                     .disabled = 1,
                                     .sample_id_all = 1,
                                     .use_clockid = 1,
                                     .clockid = CLOCK_MONOTONIC};
}

/* Sets an event that counts nothing, and that perf_event_paranoid 2 allows. */
static void set_dummy(struct perf_event_attr *attr)
{
    set_common_attributes(attr);
    attr->type = PERF_TYPE_SOFTWARE;
    attr->config = PERF_COUNT_SW_DUMMY;
    attr->exclude_kernel = 1;
    attr->exclude_hv = 1;
}

static void set_tracepoint(struct perf_event_attr *attr, uint32_t id)
{
    set_common_attributes(attr);
    attr->type = PERF_TYPE_TRACEPOINT;
    attr->config = id;
    attr->sample_period = 1;
    attr->sample_type |= PERF_SAMPLE_RAW;
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
    if (error == EMFILE || error == ENFILE)
        strobe_error_set(why, "%s: %s", what, strerror(error));
    else
        strobe_error_set(why, "%s: %s%s%s", what, strerror(error),
                         level[0] ? "; kernel.perf_event_paranoid is " : "; the kernel has no perf events", level);
    errno = error;
}

/* Processors that are off line, or beyond those that exist, have no event. */
static enum strobe_status open_rings(struct strobe_sched_perf *p, struct strobe_error *why)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    cpus = cpus < 1 ? 1 : cpus > STROBE_SCHED_CPUS_MAX ? STROBE_SCHED_CPUS_MAX : cpus;
    p->rings = calloc((size_t)cpus, sizeof *p->rings);
    p->polled = calloc((size_t)cpus + 1, sizeof *p->polled);
    if (!p->rings || !p->polled) {
        errno = ENOMEM;
        return STROBE_IO;
    }
    struct perf_event_attr attr;
    set_dummy(&attr);
    attr.watermark = 1;
    attr.wakeup_watermark = RING_BYTES_MOST / 4;
    for (int cpu = 0; cpu < cpus; cpu++) {
        struct strobe_sched_ring *r = &p->rings[p->ring_count];
        *r = (struct strobe_sched_ring){.cpu = cpu, .fd = open_perf_event(&attr, 0, cpu), .waking_fd = -1};
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

/* Opens an event of a thread, whose records go to the buffer. Returns false with errno. */
static bool open_thread_event(struct strobe_sched_perf *p, struct perf_event_attr *attr, pid_t tid,
                              const struct strobe_sched_ring *r)
{
    if (!strobe_array_reserve(&p->events, &p->event_room, p->event_count + 1)) {
        errno = ENOMEM;
        return false;
    }
    attr->inherit = 1;
    attr->inherit_thread = p->family.only_pid != 0;
    attr->enable_on_exec = p->from_exec;
    int fd = open_perf_event(attr, tid, r->cpu);
    if (fd < 0)
        return false;
    p->events[p->event_count++] = fd;
    return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) == 0;
}

/* sched_switch comes first, because its record has the state in which the thread leaves the processor. Records before
 * the ioctl that names the buffer would be lost, so events begin after all are open. */
enum strobe_status strobe_sched_perf_open_thread(struct strobe_sched_perf *p, pid_t tid, struct strobe_error *why)
{
    size_t first = p->event_count;
    bool ok = true;
    for (size_t i = 0; i < p->ring_count && ok; i++) {
        struct perf_event_attr attr;
        if (p->source == STROBE_SCHED_BY_TRACEPOINTS) {
            set_tracepoint(&attr, p->switched.id);
            ok = open_thread_event(p, &attr, tid, &p->rings[i]);
        }
        set_dummy(&attr);
        attr.context_switch = 1;
        attr.task = 1;
        attr.comm = 1;
        attr.comm_exec = 1;
        ok = ok && open_thread_event(p, &attr, tid, &p->rings[i]);
    }
    int error = errno;
    while (!ok && p->event_count > first)
        close(p->events[--p->event_count]);
    for (size_t i = first; i < p->event_count && !p->from_exec; i++)
        ioctl(p->events[i], PERF_EVENT_IOC_ENABLE, 0);
    errno = error;
    if (ok)
        return STROBE_OK;
    say_refused(why, "perf_event_open");
    return error == ESRCH ? STROBE_NO_ENTRY : STROBE_UNSUPPORTED;
}

int strobe_sched_perf_processor_of(const struct strobe_sched_perf *p, size_t first_event)
{
    size_t of_ring = (p->event_count - first_event) / p->ring_count;
    struct event_counts c = {0};
    for (size_t i = first_event; i < p->event_count; i++)
        if (read(p->events[i], &c, sizeof c) >= (ssize_t)offsetof(struct event_counts, lost) && c.running_ns)
            return p->rings[(i - first_event) / of_ring].cpu;
    return -1;
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

bool strobe_sched_perf_has_own_ids(void)
{
    uint64_t namespace = strobe_session_namespace();
    return !namespace || namespace == FIRST_PID_NAMESPACE;
}

static bool read_formats(struct strobe_sched_perf *p, struct strobe_error *why)
{
    static const char *const folders[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    if (!strobe_sched_perf_has_own_ids()) {
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

/* sched_waking is an event of all processes: a thread that sleeps is woken by others, and its own events do not see
 * that. Wake-ups of other processes are left out later. */
static bool open_waking(struct strobe_sched_perf *p)
{
    struct perf_event_attr attr;
    set_tracepoint(&attr, p->waking.id);
    for (size_t i = 0; i < p->ring_count; i++) {
        struct strobe_sched_ring *r = &p->rings[i];
        r->waking_fd = open_perf_event(&attr, -1, r->cpu);
        if (r->waking_fd < 0 || ioctl(r->waking_fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) != 0 ||
            ioctl(r->waking_fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
            return false;
    }
    return true;
}

static void close_waking(struct strobe_sched_perf *p)
{
    for (size_t i = 0; i < p->ring_count; i++) {
        if (p->rings[i].waking_fd >= 0)
            close(p->rings[i].waking_fd);
        p->rings[i].waking_fd = -1;
    }
}

static void open_tracepoints(struct strobe_sched_perf *p)
{
    if (!read_formats(p, &p->limit))
        return;
    if (open_waking(p)) {
        p->source = STROBE_SCHED_BY_TRACEPOINTS;
        return;
    }
    say_refused(&p->limit, "tracepoints");
    close_waking(p);
}

enum strobe_status strobe_sched_perf_open_buffers(struct strobe_sched_perf *p, uint32_t only_pid, bool from_exec,
                                                  struct strobe_error *why)
{
    *p = (struct strobe_sched_perf){.source = STROBE_SCHED_BY_SWITCHES, .from_exec = from_exec};
    p->family = (struct strobe_sched_family){.only_pid = only_pid, .file = -1, .names.from_proc = true};
    update_boottime(p);
    enum strobe_status status = open_rings(p, why);
    if (status == STROBE_OK)
        open_tracepoints(p);
    else
        strobe_sched_perf_close(p);
    return status;
}

enum strobe_status strobe_sched_perf_open(struct strobe_sched_perf *p, pid_t pid, bool family, struct strobe_error *why)
{
    enum strobe_status status = strobe_sched_perf_open_buffers(p, family ? 0 : (uint32_t)pid, true, why);
    if (status != STROBE_OK)
        return status;
    status = strobe_sched_perf_open_thread(p, pid, why);
    if (status != STROBE_OK)
        strobe_sched_perf_close(p);
    return status == STROBE_OK ? STROBE_OK : STROBE_UNSUPPORTED;
}

void strobe_sched_perf_close(struct strobe_sched_perf *p)
{
    int error = errno;
    close_waking(p);
    for (size_t i = 0; i < p->event_count; i++)
        close(p->events[i]);
    for (size_t i = 0; i < p->ring_count; i++) {
        if (p->rings[i].head)
            munmap(p->rings[i].head, p->rings[i].bytes + (size_t)sysconf(_SC_PAGESIZE));
        close(p->rings[i].fd);
    }
    strobe_sched_family_close(&p->family);
    free(p->rings);
    free(p->polled);
    free(p->events);
    *p = (struct strobe_sched_perf){.family.file = -1};
    errno = error;
}

/* ---- records */

static void add_note(struct strobe_sched_perf *p, const struct record_id *id, uint32_t pid,
                     enum strobe_sched_note_kind kind, struct strobe_sched_event e)
{
    if (id->cpu >= STROBE_SCHED_CPUS_MAX)
        return;
    e.time_ns = id->time_ns + p->boot_ahead_ns;
    e.cpu = (uint16_t)id->cpu;
    const struct strobe_sched_note note = {.event = e, .pid = pid, .kind = kind};
    strobe_sched_family_add(&p->family, &note);
}

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
        add_note(p, &id, 0, STROBE_SCHED_SEEN,
                 (struct strobe_sched_event){
                     .tid = (uint32_t)raw_field(raw, raw_bytes, p->waking.pid),
                     .other = (uint32_t)raw_field(raw, raw_bytes, p->waking.common_pid),
                     .what = STROBE_SCHED_WAKE,
                     .flags = flags & IRQS ? STROBE_SCHED_IN_INTERRUPT : 0,
                 });
    }
}

static void take_switch(struct strobe_sched_perf *p, struct strobe_sched_ring *r, const struct record_id *id,
                        uint16_t misc)
{
    struct strobe_sched_event e = {.tid = id->tid, .what = STROBE_SCHED_IN};
    if (misc & PERF_RECORD_MISC_SWITCH_OUT) {
        e.what = STROBE_SCHED_OUT;
        e.state = STROBE_SCHED_SLEEPING;
        if (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) {
            e.state = STROBE_SCHED_RUNNABLE;
            e.flags = STROBE_SCHED_PREEMPTED;
        } else if (r->out_tid == id->tid) {
            e.state = (uint8_t)strobe_sched_state_of_number(r->out_state);
        }
        r->out_tid = 0;
    }
    add_note(p, id, id->pid, STROBE_SCHED_SEEN, e);
}

/* FORK and EXIT: pid, parent's pid, tid, parent's tid, time. */
static void take_life(struct strobe_sched_perf *p, const struct record_id *id, uint32_t type, const uint8_t *record)
{
    uint32_t ids[4];
    memcpy(ids, record + sizeof(struct perf_event_header), sizeof ids);
    /* The kernel reports new names of the process's own threads only, unless its children are followed. */
    bool renames_are_seen = ids[0] == ids[1] || !p->family.only_pid;
    if (type == PERF_RECORD_FORK)
        strobe_sched_names_inherit(&p->family.names, ids[2], renames_are_seen ? ids[3] : 0, id->time_ns);
    if (type == PERF_RECORD_EXIT)
        add_note(p, id, ids[0], STROBE_SCHED_SEEN,
                 (struct strobe_sched_event){.tid = ids[2], .what = STROBE_SCHED_END});
    else
        add_note(p, id, ids[0], STROBE_SCHED_FORKED,
                 (struct strobe_sched_event){.tid = ids[2], .other = ids[3], .what = STROBE_SCHED_WAKE});
}

/* COMM: pid, tid, and the name, in the first `bytes` bytes. */
static void take_thread_name(struct strobe_sched_perf *p, const struct record_id *id, const uint8_t *record,
                             size_t bytes)
{
    uint32_t tid;
    const size_t at = sizeof(struct perf_event_header) + 2 * sizeof tid;
    if (bytes < at)
        return;
    memcpy(&tid, record + at - sizeof tid, sizeof tid);
    strobe_sched_names_set(&p->family.names, tid, id->time_ns, (const char *)record + at, bytes - at);
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
            p->lost += lost;
        }
        break;
    case PERF_RECORD_SWITCH: take_switch(p, r, &id, h.misc); break;
    case PERF_RECORD_COMM:
        take_thread_name(p, &id, record, bytes - sizeof id);
        if (h.misc & PERF_RECORD_MISC_COMM_EXEC) /* the program begins: its first thread runs */
            add_note(p, &id, id.pid, STROBE_SCHED_EXECUTED,
                     (struct strobe_sched_event){.tid = id.tid, .what = STROBE_SCHED_IN});
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

/* Takes what the kernel itself counts as lost, where it does so. A record of losses comes only with the next record, so
 * those at the end have none. */
static void take_lost_counts(struct strobe_sched_perf *p)
{
    uint64_t lost = 0;
    struct event_counts c;
    for (size_t i = 0; i < p->event_count; i++)
        lost += read(p->events[i], &c, sizeof c) == sizeof c ? c.lost : 0;
    for (size_t i = 0; i < p->ring_count; i++)
        lost += p->rings[i].waking_fd >= 0 && read(p->rings[i].waking_fd, &c, sizeof c) == sizeof c ? c.lost : 0;
    p->lost = lost > p->lost ? lost : p->lost;
}

void strobe_sched_perf_collect(struct strobe_sched_perf *p)
{
    for (size_t i = 0; i < p->ring_count; i++)
        drain_ring(p, &p->rings[i]);
}

void strobe_sched_perf_drain(struct strobe_sched_perf *p)
{
    update_boottime(p);
    uint64_t begin_ns = clock_now_ns(CLOCK_BOOTTIME);
    strobe_sched_perf_collect(p);
    strobe_sched_family_pass(&p->family, begin_ns - IN_FLIGHT_NS);
}

void strobe_sched_perf_end(struct strobe_sched_perf *p)
{
    if (p->ended)
        return;
    for (size_t i = 0; i < p->event_count; i++)
        ioctl(p->events[i], PERF_EVENT_IOC_DISABLE, 0);
    for (size_t i = 0; i < p->ring_count; i++)
        if (p->rings[i].waking_fd >= 0)
            ioctl(p->rings[i].waking_fd, PERF_EVENT_IOC_DISABLE, 0);
    update_boottime(p);
    strobe_sched_perf_collect(p);
    take_lost_counts(p);
    strobe_sched_family_finish(&p->family);
    p->ended = true;
}

void strobe_sched_perf_wait(struct strobe_sched_perf *p, uint64_t most_ns)
{
    struct timespec most = {(time_t)(most_ns / 1000000000), (long)(most_ns % 1000000000)};
    ppoll(p->polled, p->ring_count + 1, most_ns == UINT64_MAX ? NULL : &most, NULL);
    strobe_sched_perf_drain(p);
}

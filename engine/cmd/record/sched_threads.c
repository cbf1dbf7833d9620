/* Opens the events of all threads of a process that runs. */
#include "engine/base/error_format.h"
#include "engine/cmd/record/sched_perf.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

char strobe_sched_read_task(pid_t pid, pid_t tid, unsigned *cpu)
{
    enum { FROM_STATE_TO_PROCESSOR = 36 }; /* fields of proc_pid_stat(5) */
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    const char *name_end = strrchr(text, ')');
    if (!name_end || name_end[1] != ' ')
        return '\0';
    const char *field = name_end + 1;
    for (int i = 0; i < FROM_STATE_TO_PROCESSOR && field; i++)
        field = strchr(field + 1, ' ');
    *cpu = field ? (unsigned)strtoul(field, NULL, 10) : 0;
    return name_end[2];
}

/* Adds what the thread does at `time_ns`. Its events were opened after that time, so they are in addition. */
static void add_found_thread(struct strobe_sched_perf *p, pid_t pid, pid_t tid, uint64_t time_ns, size_t first_event)
{
    unsigned last_cpu;
    char state = strobe_sched_read_task(pid, tid, &last_cpu);
    int cpu = state == 'R' ? strobe_sched_perf_processor_of(p, first_event) : -1;
    struct strobe_sched_note n = {.pid = (uint32_t)pid, .kind = STROBE_SCHED_FOUND};
    n.event = (struct strobe_sched_event){.time_ns = time_ns, .tid = (uint32_t)tid, .what = STROBE_SCHED_IN};
    if (!state)
        return;
    if (cpu >= 0) {
        n.event.cpu = (uint16_t)cpu;
    } else {
        n.event.what = STROBE_SCHED_OUT;
        n.event.state = (uint8_t)(state == 'R' ? STROBE_SCHED_RUNNABLE : strobe_sched_state_of(&state, 1));
    }
    strobe_sched_family_add(&p->family, &n);
}

/* Marks the threads as known whose creation is recorded in notes from `from` on: they have inherited their events. */
static bool know_new_threads(const struct strobe_sched_family *f, size_t from, struct strobe_idmap *known)
{
    int fresh;
    for (size_t i = from; i < f->pending_count; i++)
        if (f->pending[i].kind == STROBE_SCHED_FORKED && !strobe_idmap_put(known, f->pending[i].event.tid, 0, &fresh))
            return false;
    return true;
}

/* A thread that has inherited its events, but is not known to have, gets further ones. Its records then come twice, and
 * the second ones are left out. */
static enum strobe_status open_found_thread(struct strobe_sched_perf *p, pid_t pid, pid_t tid,
                                            struct strobe_idmap *known, struct strobe_error *why)
{
    int fresh;
    size_t first_event = p->event_count, first_note = p->family.pending_count;
    strobe_sched_perf_collect(p);
    if (!know_new_threads(&p->family, first_note, known) || !strobe_idmap_put(known, (uint32_t)tid, 0, &fresh)) {
        errno = ENOMEM;
        return STROBE_IO;
    }
    if (!fresh)
        return STROBE_OK;
    uint64_t time_ns = strobe_sched_perf_now_ns(p);
    enum strobe_status status = strobe_sched_perf_open_thread(p, tid, why);
    if (status == STROBE_OK)
        add_found_thread(p, pid, tid, time_ns, first_event);
    return status == STROBE_NO_ENTRY ? STROBE_OK : status; /* the thread has ended */
}

/* Opens the events of the threads that are not known yet. */
static enum strobe_status open_found_threads(struct strobe_sched_perf *p, pid_t pid, struct strobe_idmap *known,
                                             struct strobe_error *why)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    enum strobe_status status = STROBE_OK;
    DIR *d = opendir(path);
    if (!d)
        return STROBE_IO;
    for (struct dirent *e; status == STROBE_OK && (e = readdir(d)) != NULL;) {
        long tid = strtol(e->d_name, NULL, 10);
        if (tid > 0 && tid <= INT_MAX && !strobe_idmap_get(known, (uint32_t)tid, 0))
            status = open_found_thread(p, pid, (pid_t)tid, known, why);
    }
    int error = errno;
    closedir(d);
    errno = error;
    return status;
}

/* A thread that is created between the listing and the opening of its creator's events is in the next list. A list that
 * is read while threads end can lack others, so two lists without an unknown thread end the search. */
static enum strobe_status open_process(struct strobe_sched_perf *p, pid_t pid, struct strobe_error *why)
{
    enum { LISTS_MOST = 100, ALIKE = 2 };
    struct strobe_idmap known = {0};
    enum strobe_status status = STROBE_OK;
    int alike = 0;
    for (int i = 0; i < LISTS_MOST && alike < ALIKE && status == STROBE_OK; i++) {
        size_t before = known.count;
        status = open_found_threads(p, pid, &known, why);
        alike = known.count == before ? alike + 1 : 0;
    }
    if (status == STROBE_OK && alike < ALIKE) {
        strobe_error_set(why, "the program creates threads faster than they are found");
        status = STROBE_UNSUPPORTED;
    }
    strobe_idmap_free(&known);
    return status;
}

/* Each thread takes one or two events on each processor, and each event a file descriptor. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

enum strobe_status strobe_sched_perf_attach(struct strobe_sched_perf *p, pid_t pid, struct strobe_error *why)
{
    raise_file_limit();
    enum strobe_status status = strobe_sched_perf_open_buffers(p, (uint32_t)pid, false, why);
    if (status != STROBE_OK)
        return status;
    status = open_process(p, pid, why);
    if (status != STROBE_OK)
        strobe_sched_perf_close(p);
    return status;
}

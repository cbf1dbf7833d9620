#include "engine/cmd/record/sched_family.h"

#include "engine/util/array.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BLOCK_EVENTS_FIRST = 32,
    BLOCK_EVENTS_MOST = 1024,
    EVENTS_MOST = 1 << 24, /* that are kept: 384 MiB */
};

/* What a thread does, by its events so far. */
enum task_state { TASK_NEW, TASK_RUNS, TASK_SLEEPS, TASK_READY, TASK_ENDED };

struct strobe_sched_task {
    uint64_t last_ns;      /* time of its last event */
    uint32_t tid, program; /* program: its index */
    enum task_state state;
};

enum strobe_status strobe_sched_family_create_file(struct strobe_sched_family *f, const char *beside)
{
    char path[PATH_MAX + 16];
    const char *slash = strrchr(beside, '/');
    snprintf(path, sizeof path, "%.*s", slash ? (int)(slash - beside) : 1, slash ? beside : ".");
    f->file = open(path[0] ? path : "/", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (f->file < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
        snprintf(path, sizeof path, "%s.XXXXXX", beside);
        f->file = mkostemp(path, O_CLOEXEC);
        if (f->file >= 0)
            unlink(path);
    }
    return f->file >= 0 ? STROBE_OK : STROBE_IO;
}

void strobe_sched_family_close(struct strobe_sched_family *f)
{
    int error = errno;
    if (f->file >= 0)
        close(f->file);
    for (size_t i = 0; i < f->program_count; i++)
        free(f->programs[i].block);
    free(f->pending);
    free(f->tasks);
    free(f->programs);
    free(f->runs);
    free(f->late);
    strobe_sched_names_free(&f->names);
    strobe_idmap_free(&f->by_tid);
    strobe_idmap_free(&f->by_pid);
    *f = (struct strobe_sched_family){.file = -1};
    errno = error;
}

/* ---- the file of events */

static void fail_family(struct strobe_sched_family *f, int error)
{
    if (!f->error)
        f->error = error;
}

/* Writes the program's last events, and frees their memory. */
static void write_event_block(struct strobe_sched_family *f, uint32_t program)
{
    struct strobe_sched_program *p = &f->programs[program];
    const char *at = (const char *)p->block;
    size_t left = p->block_count * sizeof *p->block;
    if (left && !strobe_array_reserve(&f->runs, &f->run_room, f->run_count + 1))
        fail_family(f, ENOMEM);
    while (left && !f->error) {
        ssize_t n = write(f->file, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            fail_family(f, n < 0 ? errno : ENOSPC);
            break;
        }
        at += n;
        left -= (size_t)n;
    }
    if (f->error) {
        f->refused += p->block_count;
    } else if (p->block_count) {
        f->runs[f->run_count++] = (struct strobe_sched_run){f->written, p->block_count, program};
        f->written += p->block_count;
    }
    free(p->block);
    p->block = NULL;
    p->block_count = p->block_room = 0;
}

static void keep_late_event(struct strobe_sched_family *f, uint32_t program, const struct strobe_sched_event *e)
{
    if (!strobe_array_reserve(&f->late, &f->late_room, f->late_count + 1)) {
        fail_family(f, ENOMEM);
        f->refused++;
        return;
    }
    f->late[f->late_count] = (struct strobe_sched_late){*e, program, (uint32_t)f->late_count};
    f->late_count++;
    f->kept++;
}

static void keep_event(struct strobe_sched_family *f, uint32_t program, const struct strobe_sched_event *e)
{
    struct strobe_sched_program *p = &f->programs[program];
    if (p->block_count == BLOCK_EVENTS_MOST)
        write_event_block(f, program);
    if (f->kept >= EVENTS_MOST || f->error) {
        f->refused++;
        return;
    }
    if (e->time_ns < p->last_ns) {
        keep_late_event(f, program, e);
        return;
    }
    p->last_ns = e->time_ns;
    if (p->block_count == p->block_room) {
        uint32_t room = p->block_room ? 2 * p->block_room : BLOCK_EVENTS_FIRST;
        struct strobe_sched_event *block = realloc(p->block, room * sizeof *block);
        if (!block) {
            fail_family(f, ENOMEM);
            f->refused++;
            return;
        }
        p->block = block;
        p->block_room = room;
    }
    p->block[p->block_count++] = *e;
    f->kept++;
}

/* ---- threads and programs */

/* Begins a program of the process. Stores its index in *out. Returns false when out of memory. */
static bool begin_program(struct strobe_sched_family *f, uint32_t pid, uint64_t begin_ns, uint32_t *out)
{
    int fresh;
    bool has_room = strobe_array_reserve(&f->programs, &f->program_room, f->program_count + 1);
    uint32_t *last = has_room ? strobe_idmap_put(&f->by_pid, pid, 0, &fresh) : NULL;
    if (!last) {
        fail_family(f, ENOMEM);
        return false;
    }
    f->programs[f->program_count] = (struct strobe_sched_program){
        .begin_ns = begin_ns, .until_ns = UINT64_MAX, .pid = pid, .earlier = fresh ? 0 : *last + 1};
    *out = *last = (uint32_t)f->program_count++;
    return true;
}

/* Finds the program that the process executes now. One whose begin is not known begins with this event. */
static bool find_program(struct strobe_sched_family *f, const struct strobe_sched_note *n, uint32_t *out)
{
    const uint32_t *last = strobe_idmap_get(&f->by_pid, n->pid, 0);
    if (!last)
        return begin_program(f, n->pid, n->event.time_ns, out);
    *out = *last;
    return true;
}

/* A program without threads gets no further events, as a rule. */
static void set_task_state(struct strobe_sched_family *f, struct strobe_sched_task *t, enum task_state state)
{
    struct strobe_sched_program *p = &f->programs[t->program];
    if (t->state == TASK_ENDED && state != TASK_ENDED)
        p->live++;
    bool ends = t->state != TASK_ENDED && state == TASK_ENDED;
    t->state = state;
    if (ends && --p->live == 0)
        write_event_block(f, t->program);
}

static void end_task(struct strobe_sched_family *f, struct strobe_sched_task *t, const struct strobe_sched_event *at)
{
    if (t->state == TASK_ENDED)
        return;
    struct strobe_sched_event end = {.time_ns = at->time_ns, .tid = t->tid, .cpu = at->cpu, .what = STROBE_SCHED_END};
    keep_event(f, t->program, &end);
    set_task_state(f, t, TASK_ENDED);
}

/* A thread that executes a program gets the id of the first thread; all threads of the program before have ended. */
static void end_tasks_of(struct strobe_sched_family *f, uint32_t program, const struct strobe_sched_event *at)
{
    for (size_t i = 0; i < f->task_count && f->programs[program].live; i++)
        if (f->tasks[i].program == program)
            end_task(f, &f->tasks[i], at);
}

/* Moves the thread to another program. Its end in the program before is stored at this event, unless it is stored. */
static void move_task(struct strobe_sched_family *f, struct strobe_sched_task *t, uint32_t program,
                      const struct strobe_sched_event *at)
{
    end_task(f, t, at);
    t->program = program;
    set_task_state(f, t, TASK_NEW);
}

/* Returns the thread of the event, within its program. NULL: a thread that is not of the family, an event that is older
 * than the thread's last one, or out of memory. */
static struct strobe_sched_task *find_sched_task(struct strobe_sched_family *f, const struct strobe_sched_note *n)
{
    int fresh = 0;
    uint32_t program, *index = NULL;
    if (!n->pid)
        index = strobe_idmap_get(&f->by_tid, n->event.tid, 0);
    else if (strobe_array_reserve(&f->tasks, &f->task_room, f->task_count + 1)) /* first: a key needs its thread */
        index = strobe_idmap_put(&f->by_tid, n->event.tid, 0, &fresh);
    if (index && !fresh && n->event.time_ns < f->tasks[*index].last_ns)
        return NULL;
    if (!n->pid)
        return index ? &f->tasks[*index] : NULL;
    if (!index) {
        fail_family(f, ENOMEM);
        return NULL;
    }
    if (fresh) {
        *index = (uint32_t)f->task_count++;
        f->tasks[*index] = (struct strobe_sched_task){.tid = n->event.tid, .program = UINT32_MAX, .state = TASK_ENDED};
    }
    struct strobe_sched_task *t = &f->tasks[*index];
    const uint32_t *last = strobe_idmap_get(&f->by_pid, n->pid, 0);
    bool begins = n->kind == STROBE_SCHED_EXECUTED || (n->kind == STROBE_SCHED_FORKED && n->pid == n->event.tid);
    if (last && n->kind == STROBE_SCHED_EXECUTED) {
        if (f->programs[*last].live == 1 && t->program == *last)
            end_task(f, t, &n->event);
        else
            end_tasks_of(f, *last, &n->event);
    }
    if (begins ? !begin_program(f, n->pid, n->event.time_ns, &program) : !find_program(f, n, &program))
        return NULL;
    if (t->program != program)
        move_task(f, t, program, &n->event);
    return t;
}

/* ---- events in order */

/* Returns whether the event follows from the state `was`, and stores the state that it leads to. */
static bool follow_state(const struct strobe_sched_note *n, enum task_state was, enum task_state *next)
{
    switch (n->event.what) {
    case STROBE_SCHED_IN: *next = TASK_RUNS; return was != TASK_RUNS;
    case STROBE_SCHED_OUT:
        *next = n->event.state == STROBE_SCHED_RUNNABLE ? TASK_READY : TASK_SLEEPS;
        return was == TASK_RUNS || (was == TASK_NEW && n->kind == STROBE_SCHED_FOUND);
    case STROBE_SCHED_WAKE:
        *next = TASK_READY;
        return was == TASK_NEW || was == TASK_SLEEPS || (was == TASK_ENDED && n->kind == STROBE_SCHED_FORKED);
    default: *next = TASK_ENDED; return was != TASK_NEW && was != TASK_ENDED;
    }
}

/* The state in which a thread was found changes nothing when the thread has had events since. The creation of a thread
 * ends an earlier one with its id, whose end was lost. Of events that do not follow, two change the state: the end of a
 * thread, and the end of a run that nothing has recorded, when the thread sleeps. A runnable thread stays runnable
 * instead: a wake-up would not follow from its last stored event. */
static void take_in_order(struct strobe_sched_family *f, const struct strobe_sched_note *n)
{
    enum task_state next;
    struct strobe_sched_task *t = find_sched_task(f, n);
    if (!t)
        return;
    t->last_ns = n->event.time_ns;
    if (n->kind == STROBE_SCHED_FORKED && (t->state == TASK_RUNS || t->state == TASK_SLEEPS))
        end_task(f, t, &n->event);
    bool follows = follow_state(n, t->state, &next);
    if (n->kind == STROBE_SCHED_FOUND && t->state != TASK_NEW)
        return;
    if (follows)
        keep_event(f, t->program, &n->event);
    if (follows && n->event.other && !(n->event.flags & STROBE_SCHED_IN_INTERRUPT))
        strobe_sched_names_wake(&f->names, n->event.other);
    bool unseen_run = n->event.what == STROBE_SCHED_OUT && (t->state == TASK_NEW || t->state == TASK_SLEEPS);
    if (follows || unseen_run || n->event.what == STROBE_SCHED_END)
        set_task_state(f, t, next);
}

void strobe_sched_family_add(struct strobe_sched_family *f, const struct strobe_sched_note *n)
{
    const struct strobe_sched_event *e = &n->event;
    if (!e->tid || e->tid > INT32_MAX || n->pid > INT32_MAX || e->other > INT32_MAX || e->cpu >= STROBE_SCHED_CPUS_MAX)
        return;
    if ((f->only_pid && n->pid && n->pid != f->only_pid) || (!n->pid && e->what != STROBE_SCHED_WAKE))
        return;
    if (!strobe_array_reserve(&f->pending, &f->pending_room, f->pending_count + 1)) {
        fail_family(f, ENOMEM);
        return;
    }
    f->pending[f->pending_count] = *n;
    f->pending[f->pending_count].order = (uint32_t)f->pending_count;
    f->pending_count++;
}

static int by_pending_time(const void *a, const void *b)
{
    const struct strobe_sched_note *v = a, *w = b;
    if (v->event.time_ns != w->event.time_ns)
        return v->event.time_ns < w->event.time_ns ? -1 : 1;
    return v->order < w->order ? -1 : v->order > w->order;
}

void strobe_sched_family_pass(struct strobe_sched_family *f, uint64_t before_ns)
{
    size_t done = 0;
    if (f->pending_count)
        qsort(f->pending, f->pending_count, sizeof *f->pending, by_pending_time);
    while (done < f->pending_count && f->pending[done].event.time_ns < before_ns)
        take_in_order(f, &f->pending[done++]);
    if (done)
        memmove(f->pending, f->pending + done, (f->pending_count - done) * sizeof *f->pending);
    f->pending_count -= done;
    for (size_t i = 0; i < f->pending_count; i++)
        f->pending[i].order = (uint32_t)i;
    strobe_sched_names_read(&f->names);
}

/* ---- the end */

static int by_owner(const void *a, const void *b)
{
    const struct strobe_sched_run *v = a, *w = b;
    if (v->owner != w->owner)
        return v->owner < w->owner ? -1 : 1;
    return v->first < w->first ? -1 : v->first > w->first;
}

static int by_late_owner(const void *a, const void *b)
{
    const struct strobe_sched_late *v = a, *w = b;
    if (v->owner != w->owner)
        return v->owner < w->owner ? -1 : 1;
    if (v->event.time_ns != w->event.time_ns)
        return v->event.time_ns < w->event.time_ns ? -1 : 1;
    return v->order < w->order ? -1 : v->order > w->order;
}

void strobe_sched_family_finish(struct strobe_sched_family *f)
{
    strobe_sched_family_pass(f, UINT64_MAX);
    for (size_t i = 0; i < f->program_count; i++)
        write_event_block(f, (uint32_t)i);
    strobe_sched_names_finish(&f->names);
    if (f->run_count)
        qsort(f->runs, f->run_count, sizeof *f->runs, by_owner);
    if (f->late_count)
        qsort(f->late, f->late_count, sizeof *f->late, by_late_owner);
    for (size_t i = 0; i < f->run_count; i++) {
        struct strobe_sched_program *p = &f->programs[f->runs[i].owner];
        p->first_run = p->run_count++ ? p->first_run : i;
    }
    for (size_t i = 0; i < f->late_count; i++) {
        struct strobe_sched_program *p = &f->programs[f->late[i].owner];
        p->first_late = p->late_count++ ? p->first_late : i;
    }
}

/* A process whose begin is lost has executed its first program since before its first event. */
struct strobe_sched_program *strobe_sched_family_find(struct strobe_sched_family *f, uint32_t pid, uint64_t time_ns)
{
    const uint32_t *last = strobe_idmap_get(&f->by_pid, pid, 0);
    struct strobe_sched_program *p = last ? &f->programs[*last] : NULL;
    while (p && p->begin_ns > time_ns && p->earlier)
        p = &f->programs[p->earlier - 1];
    return p;
}

enum strobe_status strobe_sched_family_append(const struct strobe_sched_family *f,
                                              const struct strobe_sched_program *program,
                                              const struct strobe_sched_head *head, const char *path, uint64_t from_ns,
                                              uint64_t to_ns)
{
    static const struct strobe_sched_program none;
    const struct strobe_sched_program *p = program ? program : &none;
    const struct strobe_sched_part part = {.fd = f->file,
                                           .runs = f->runs ? f->runs + p->first_run : NULL,
                                           .run_count = p->run_count,
                                           .late = f->late ? f->late + p->first_late : NULL,
                                           .late_count = p->late_count,
                                           .names = f->names.names,
                                           .name_count = f->names.count,
                                           .from_ns = from_ns,
                                           .to_ns = to_ns};
    return strobe_sched_section_append(path, head, &part);
}

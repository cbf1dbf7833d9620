#include "engine/trace/export/perfetto_sched.h"

#include "engine/trace/export/ftrace_packets.h"
#include "engine/trace/import/ftrace/ftrace_forms.h"
#include "engine/util/idmap.h"

#include <stdio.h>
#include <string.h>

/* Numbers of task states as kernels before 4.14 have them: readers take these of a trace without a kernel's version. */
enum { TASK_RUNNING = 0, TASK_INTERRUPTIBLE = 1, TASK_UNINTERRUPTIBLE = 2, EXIT_DEAD = 16, TASK_PREEMPTED = 0x800 };
enum { IN_SOFT_INTERRUPT = 0x10 }; /* a bit of ftrace's common_flags */
enum { EVENT_COMMON_FLAGS = 5, TASK_NAME_BYTES = 16, MESSAGE_BYTES = 256 };

struct sched_writer {
    struct strobe_ftrace_packets ftrace;
    const struct strobe_reader *reader;
    struct strobe_idmap names;  /* by tid: index of the thread */
    struct strobe_idmap wakers; /* by tid: threads that the session does not list, whose names are written */
    struct strobe_perfetto_sched_written *written;
    int failed;
};

static void name_listed_threads(struct sched_writer *w)
{
    for (uint32_t i = 0; i < w->reader->thread_count; i++) {
        int fresh;
        uint32_t *index = strobe_idmap_put(&w->names, w->reader->threads[i].tid, 0, &fresh);
        if (index)
            *index = i;
        else
            w->failed = 1;
    }
}

/* Stores the name of the thread. Returns false for a thread that the session does not list, such as the engine's own.
 */
static bool find_task_name(const struct sched_writer *w, uint32_t tid, char name[TASK_NAME_BYTES])
{
    const uint32_t *index = strobe_idmap_get(&w->names, tid, 0);
    if (index) /* cut as the kernel cuts it */
        snprintf(name, TASK_NAME_BYTES, "%.15s", w->reader->threads[*index].name);
    return index != NULL;
}

static uint64_t number_of_task_state(const struct strobe_sched_event *e)
{
    if (e->what == STROBE_SCHED_END)
        return EXIT_DEAD;
    switch (e->state) {
    case STROBE_SCHED_RUNNABLE: return e->flags & STROBE_SCHED_PREEMPTED ? TASK_PREEMPTED : TASK_RUNNING;
    case STROBE_SCHED_UNINTERRUPTIBLE: return TASK_UNINTERRUPTIBLE;
    case STROBE_SCHED_UNKNOWN: return EXIT_DEAD;
    default: return TASK_INTERRUPTIBLE;
    }
}

static void write_task_switch(struct sched_writer *w, const struct strobe_sched_event *e, const char *name)
{
    char idle[TASK_NAME_BYTES];
    bool in = e->what == STROBE_SCHED_IN;
    uint8_t *event,
        *p = strobe_ftrace_packets_begin(&w->ftrace, e->cpu, e->time_ns, in ? 0 : e->tid, MESSAGE_BYTES, &event);
    if (!p)
        return;
    snprintf(idle, sizeof idle, "swapper/%u", (unsigned)e->cpu);
    uint8_t *message = p = pb_open(p, STROBE_FTRACE_SCHED_SWITCH);
    p = pb_text(p, 1, in ? idle : name);
    p = pb_uint(p, 2, in ? 0 : e->tid);
    p = pb_uint(p, 4, in ? TASK_RUNNING : number_of_task_state(e));
    p = pb_text(p, 5, in ? name : idle);
    p = pb_uint(p, 6, in ? e->tid : 0);
    p = pb_close(message, p);
    strobe_ftrace_packets_end(&w->ftrace, e->cpu, event, p);
    w->written->switches++;
}

/* A reader of the trace learns the name of a thread of another process from this event: a wake-up does not have it. */
static void write_waker_name(struct sched_writer *w, const struct strobe_sched_event *e)
{
    int fresh;
    const char *name = strobe_sched_section_name(&w->reader->sched, e->other);
    if (!name || strobe_idmap_get(&w->names, e->other, 0))
        return;
    if (!strobe_idmap_put(&w->wakers, e->other, 0, &fresh))
        w->failed = 1;
    if (w->failed || !fresh)
        return;
    uint8_t *event, *p = strobe_ftrace_packets_begin(&w->ftrace, e->cpu, e->time_ns, e->other, MESSAGE_BYTES, &event);
    if (!p)
        return;
    uint8_t *message = p = pb_open(p, STROBE_FTRACE_TASK_RENAME);
    p = pb_uint(p, 1, e->other);
    p = pb_text(p, 2, name);
    p = pb_text(p, 3, name);
    p = pb_close(message, p);
    strobe_ftrace_packets_end(&w->ftrace, e->cpu, event, p);
}

/* The thread that an interrupt interrupted wakes nothing. The idle task stands for the interrupt. */
static void write_waking(struct sched_writer *w, const struct strobe_sched_event *e, const char *name)
{
    bool interrupt = e->flags & STROBE_SCHED_IN_INTERRUPT;
    if (!interrupt)
        write_waker_name(w, e);
    uint8_t *event, *p = strobe_ftrace_packets_begin(&w->ftrace, e->cpu, e->time_ns, interrupt ? 0 : e->other,
                                                     MESSAGE_BYTES, &event);
    if (!p)
        return;
    if (interrupt)
        p = pb_uint(p, EVENT_COMMON_FLAGS, IN_SOFT_INTERRUPT);
    uint8_t *message = p = pb_open(p, STROBE_FTRACE_SCHED_WAKING);
    p = pb_text(p, 1, name);
    p = pb_uint(p, 2, e->tid);
    p = pb_uint(p, 4, 1);
    p = pb_close(message, p);
    strobe_ftrace_packets_end(&w->ftrace, e->cpu, event, p);
    w->written->wakings++;
}

int strobe_perfetto_sched(struct strobe_packets *packets, uint32_t sequence, const struct strobe_reader *reader,
                          struct strobe_perfetto_sched_part part, struct strobe_perfetto_sched_written *written)
{
    struct sched_writer w = {.reader = reader, .written = written};
    *written = (struct strobe_perfetto_sched_written){0};
    strobe_ftrace_packets_open(&w.ftrace, packets, sequence);
    name_listed_threads(&w);
    for (size_t i = 0; i < reader->sched.count && !w.failed && !w.ftrace.failed; i++) {
        const struct strobe_sched_event *e = &reader->sched.events[i];
        char name[TASK_NAME_BYTES];
        if (e->time_ns < part.from_ns || e->time_ns >= part.to_ns || !find_task_name(&w, e->tid, name))
            continue;
        if (e->what == STROBE_SCHED_WAKE)
            write_waking(&w, e, name);
        else
            write_task_switch(&w, e, name);
    }
    strobe_ftrace_packets_close(&w.ftrace);
    strobe_idmap_free(&w.names);
    strobe_idmap_free(&w.wakers);
    return !w.failed && !w.ftrace.failed;
}

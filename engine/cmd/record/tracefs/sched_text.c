#include "engine/cmd/record/tracefs/sched_text.h"

#include "engine/trace/import/ftrace/ftrace_forms.h"
#include "engine/util/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Fields of the messages in ftrace_forms.c. */
enum { NEWTASK = 235, NEWTASK_PID = 1, NEWTASK_FLAGS = 3 };
enum { EXEC = 237, EXEC_OLD_PID = 3 };
enum { SWITCH_PREV = 2, SWITCH_STATE = 4, SWITCH_NEXT = 6, WAKING_PID = 2 };
enum { FLAG_THREAD = 0x10000 }; /* CLONE_THREAD of include/uapi/linux/sched.h */

static void fail_text(struct strobe_sched_text *t)
{
    if (!t->family->error)
        t->family->error = ENOMEM;
}

static struct strobe_sched_text_thread *find_text_thread(const struct strobe_sched_text *t, uint64_t tid)
{
    const uint32_t *index = strobe_idmap_get(&t->by_tid, tid, 0);
    return index ? &t->threads[*index] : NULL;
}

bool strobe_sched_text_know(struct strobe_sched_text *t, uint32_t pid, uint32_t tid)
{
    int fresh;
    uint32_t *index = strobe_idmap_put(&t->by_tid, tid, 0, &fresh);
    if (!index || (fresh && !strobe_array_reserve(&t->threads, &t->thread_room, t->thread_count + 1))) {
        fail_text(t);
        return false;
    }
    if (fresh)
        *index = (uint32_t)t->thread_count++;
    t->threads[*index] = (struct strobe_sched_text_thread){.last_ns = t->last_ns, .pid = pid};
    return true;
}

static uint32_t process_of_thread(const struct strobe_sched_text *t, uint64_t tid)
{
    const struct strobe_sched_text_thread *thread = find_text_thread(t, tid);
    return thread ? thread->pid : 0;
}

bool strobe_sched_text_knows(const struct strobe_sched_text *t, uint32_t tid)
{
    return process_of_thread(t, tid) != 0;
}

static void forget_thread(struct strobe_sched_text *t, uint64_t tid)
{
    struct strobe_sched_text_thread *thread = find_text_thread(t, tid);
    if (thread)
        thread->pid = 0;
}

/* ---- threads that were found runnable */

bool strobe_sched_text_hold(struct strobe_sched_text *t, const struct strobe_sched_note *note)
{
    if (!strobe_array_reserve(&t->held, &t->held_room, t->held_count + 1)) {
        fail_text(t);
        return false;
    }
    t->held[t->held_count++] = *note;
    return true;
}

void strobe_sched_text_release(struct strobe_sched_text *t)
{
    for (size_t i = 0; i < t->held_count; i++)
        strobe_sched_family_add(t->family, &t->held[i]);
    t->held_count = 0;
}

/* A thread that leaves a processor was running before. A thread that gets one was runnable, and a thread that is woken
 * was asleep. */
static void settle_held(struct strobe_sched_text *t, const struct strobe_sched_event *next)
{
    size_t i = 0;
    while (i < t->held_count && t->held[i].event.tid != next->tid)
        i++;
    if (i == t->held_count)
        return;
    struct strobe_sched_note n = t->held[i];
    if (next->what == STROBE_SCHED_IN || next->what == STROBE_SCHED_WAKE) {
        n.event.what = STROBE_SCHED_OUT;
        n.event.state = next->what == STROBE_SCHED_IN ? STROBE_SCHED_RUNNABLE : STROBE_SCHED_SLEEPING;
    } else {
        n.event.cpu = next->cpu;
    }
    strobe_sched_family_add(t->family, &n);
    memmove(t->held + i, t->held + i + 1, (t->held_count - i - 1) * sizeof *t->held);
    t->held_count--;
}

/* ---- lines */

static void add_line_note(struct strobe_sched_text *t, const struct strobe_ftrace_line *line, uint32_t pid,
                          enum strobe_sched_note_kind kind, struct strobe_sched_event e)
{
    struct strobe_sched_text_thread *thread = find_text_thread(t, e.tid);
    e.time_ns = e.time_ns ? e.time_ns : line->time_ns;
    e.cpu = (uint16_t)line->cpu;
    if (thread)
        thread->last_ns = e.time_ns;
    settle_held(t, &e);
    const struct strobe_sched_note note = {.event = e, .pid = pid, .kind = kind};
    strobe_sched_family_add(t->family, &note);
}

static bool is_event(const struct strobe_ftrace_line *line, const char *name)
{
    return line->event.bytes == strlen(name) && !memcmp(line->event.at, name, line->event.bytes);
}

/* Reads the values of the line by the first form of the event that fits. */
static bool read_line_values(const struct strobe_ftrace_line *line, uint32_t event, struct strobe_ftrace_values *out)
{
    for (size_t i = 0; i < strobe_ftrace_form_count; i++)
        if (strobe_ftrace_forms[i].field == event &&
            strobe_ftrace_match(strobe_ftrace_forms[i].form, line->payload, out))
            return true;
    return false;
}

/* Returns the number of a field; 0 if the line has none, or it is no id of a thread. */
static uint32_t line_number(const struct strobe_ftrace_values *v, uint32_t field)
{
    const struct strobe_ftrace_value *value = strobe_ftrace_value(v, field);
    return value && value->number <= INT32_MAX ? (uint32_t)value->number : 0;
}

/* Returns the processor of the line; strobe_ftrace_line bounds its number. NULL: out of memory. */
static struct strobe_sched_text_cpu *cpu_of_line(struct strobe_sched_text *t, const struct strobe_ftrace_line *line)
{
    while (t->cpu_count <= line->cpu) {
        size_t count = t->cpu_count ? 2 * t->cpu_count : 8;
        struct strobe_sched_text_cpu *cpus = realloc(t->cpus, count * sizeof *cpus);
        if (!cpus) {
            fail_text(t);
            return NULL;
        }
        memset(cpus + t->cpu_count, 0, (count - t->cpu_count) * sizeof *cpus);
        t->cpus = cpus;
        t->cpu_count = count;
    }
    return &t->cpus[line->cpu];
}

/* Adds a switch to the thread of the line if its processor has had none. */
static void add_missing_switch(struct strobe_sched_text *t, const struct strobe_ftrace_line *line,
                               const struct strobe_sched_text_cpu *cpu)
{
    const struct strobe_sched_text_thread *thread = find_text_thread(t, line->tid);
    if (!thread || !thread->pid || !cpu->last_ns || cpu->tid == line->tid)
        return;
    uint64_t time_ns = thread->last_ns > cpu->last_ns ? thread->last_ns : cpu->last_ns;
    add_line_note(t, line, thread->pid, STROBE_SCHED_SEEN,
                  (struct strobe_sched_event){.time_ns = time_ns, .tid = line->tid, .what = STROBE_SCHED_IN});
}

static void take_switch_line(struct strobe_sched_text *t, const struct strobe_ftrace_line *line,
                             struct strobe_sched_text_cpu *cpu)
{
    struct strobe_ftrace_values v;
    if (!read_line_values(line, STROBE_FTRACE_SCHED_SWITCH, &v))
        return;
    uint32_t prev = line_number(&v, SWITCH_PREV), next = line_number(&v, SWITCH_NEXT);
    cpu->tid = next;
    uint32_t prev_pid = process_of_thread(t, prev), next_pid = process_of_thread(t, next);
    const struct strobe_ftrace_value *state = strobe_ftrace_value(&v, SWITCH_STATE);
    if (prev_pid && state) {
        struct strobe_sched_event e = {.tid = prev, .what = STROBE_SCHED_OUT};
        e.state = (uint8_t)strobe_sched_state_of(state->text.at, state->text.bytes);
        e.flags = e.state == STROBE_SCHED_RUNNABLE ? STROBE_SCHED_PREEMPTED : 0;
        add_line_note(t, line, prev_pid, STROBE_SCHED_SEEN, e);
    }
    if (next_pid)
        add_line_note(t, line, next_pid, STROBE_SCHED_SEEN,
                      (struct strobe_sched_event){.tid = next, .what = STROBE_SCHED_IN});
}

/* The third flag is `h`, `H`, `s`, `z` or `Z` in an interrupt (kernel/trace/trace_output.c, trace_print_lat_fmt). */
static bool is_in_interrupt(const struct strobe_ftrace_line *line)
{
    return line->flags.bytes > 2 && line->flags.at[2] && strchr("hHszZ", line->flags.at[2]);
}

static void take_waking_line(struct strobe_sched_text *t, const struct strobe_ftrace_line *line)
{
    struct strobe_ftrace_values v;
    uint32_t tid = read_line_values(line, STROBE_FTRACE_SCHED_WAKING, &v) ? line_number(&v, WAKING_PID) : 0;
    if (!process_of_thread(t, tid))
        return;
    if (line->tid && line->task.bytes && line->task.at[0] != '<') /* <...>: ftrace does not know the name */
        strobe_sched_names_set(&t->family->names, line->tid, line->time_ns, line->task.at, line->task.bytes);
    add_line_note(t, line, 0, STROBE_SCHED_SEEN,
                  (struct strobe_sched_event){.tid = tid,
                                              .other = line->tid,
                                              .what = STROBE_SCHED_WAKE,
                                              .flags = is_in_interrupt(line) ? STROBE_SCHED_IN_INTERRUPT : 0});
}

static void take_new_task(struct strobe_sched_text *t, const struct strobe_ftrace_line *line)
{
    struct strobe_ftrace_values v;
    uint32_t creator = process_of_thread(t, line->tid);
    if (!creator || !read_line_values(line, NEWTASK, &v))
        return;
    uint32_t tid = line_number(&v, NEWTASK_PID);
    const struct strobe_ftrace_value *flags = strobe_ftrace_value(&v, NEWTASK_FLAGS);
    uint32_t pid = flags && flags->number & FLAG_THREAD ? creator : tid;
    if (tid && strobe_sched_text_know(t, pid, tid))
        add_line_note(t, line, pid, STROBE_SCHED_FORKED,
                      (struct strobe_sched_event){.tid = tid, .other = line->tid, .what = STROBE_SCHED_WAKE});
}

/* A thread that executes a program gets the id of its process. The first thread has ended before, if it was another. */
static void take_exec_line(struct strobe_sched_text *t, const struct strobe_ftrace_line *line)
{
    struct strobe_ftrace_values v;
    uint32_t old = read_line_values(line, EXEC, &v) ? line_number(&v, EXEC_OLD_PID) : 0;
    if (!process_of_thread(t, line->tid) && !process_of_thread(t, old))
        return;
    forget_thread(t, old);
    if (t->awaited == line->tid)
        t->awaited = 0;
    if (!t->awaited && strobe_sched_text_know(t, line->tid, line->tid))
        add_line_note(t, line, line->tid, STROBE_SCHED_EXECUTED,
                      (struct strobe_sched_event){.tid = line->tid, .what = STROBE_SCHED_IN});
}

static void take_exit_line(struct strobe_sched_text *t, const struct strobe_ftrace_line *line)
{
    uint32_t pid = process_of_thread(t, line->tid);
    if (pid)
        add_line_note(t, line, pid, STROBE_SCHED_SEEN,
                      (struct strobe_sched_event){.tid = line->tid, .what = STROBE_SCHED_END});
    forget_thread(t, line->tid);
}

void strobe_sched_text_take(void *ctx, const struct strobe_ftrace_line *line)
{
    struct strobe_sched_text *t = ctx;
    struct strobe_sched_text_cpu *cpu = cpu_of_line(t, line);
    t->last_ns = line->time_ns;
    if (!cpu)
        return;
    if (!t->awaited)
        add_missing_switch(t, line, cpu);
    cpu->last_ns = line->time_ns;
    cpu->tid = line->tid;
    if (is_event(line, "sched_process_exec"))
        take_exec_line(t, line);
    else if (t->awaited)
        return;
    else if (is_event(line, "sched_switch"))
        take_switch_line(t, line, cpu);
    else if (is_event(line, "sched_waking"))
        take_waking_line(t, line);
    else if (is_event(line, "task_newtask"))
        take_new_task(t, line);
    else if (is_event(line, "sched_process_exit"))
        take_exit_line(t, line);
}

void strobe_sched_text_free(struct strobe_sched_text *t)
{
    strobe_idmap_free(&t->by_tid);
    free(t->threads);
    free(t->cpus);
    free(t->held);
    *t = (struct strobe_sched_text){.family = t->family};
}

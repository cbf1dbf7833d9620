/* Turns the lines of ftrace's text into scheduling events of a family of processes (sched_family.h). The lines are of
 * these events, of all processes:
 *
 *   sched_switch, sched_waking, sched_process_exec, sched_process_exit, task_newtask
 *
 * A line names threads only. The process of a thread is known from its task_newtask, or from the caller.
 *
 * Some kernels run no tracepoint in the context of certain tasks, so the switch from such a task has no line. Of a
 * virtual machine's kernel 6.18 these are the threads of process 1, and the idle task of each processor but the first;
 * perf's sched:sched_switch lacks the same switches. But each line names the thread that its processor runs. Where this
 * is not the thread of the last switch, a switch is added: at the time of the processor's last line or of the thread's,
 * whichever is later. The thread that left the processor gets no event. An added switch may be older than events that
 * the family keeps already (late, in sched_family.h).
 *
 * Form: TP_printk of the kernel's include/trace/events/{sched,task}.h; see ftrace_forms.h. Times are ns of the lines'
 * clock. Zeroed memory with a family knows no thread. Not thread-safe; allocates. */
#ifndef STROBE_CMD_RECORD_TRACEFS_SCHED_TEXT_H
#define STROBE_CMD_RECORD_TRACEFS_SCHED_TEXT_H

#include "engine/cmd/record/sched_family.h"
#include "engine/trace/import/ftrace/ftrace_line.h"

#include <stdbool.h>

struct strobe_sched_text_thread {
    uint64_t last_ns; /* time of its last line */
    uint32_t pid;     /* its process; 0 = it has ended */
};

struct strobe_sched_text_cpu {
    uint64_t last_ns; /* time of its last line; 0 = it has had none */
    uint32_t tid;     /* of the thread that it runs; 0 is also the idle task */
};

struct strobe_sched_text {
    struct strobe_sched_family *family;
    uint32_t awaited;           /* the events begin when this process executes a program; 0 = they have begun */
    struct strobe_idmap by_tid; /* index of `threads` */
    struct strobe_sched_text_thread *threads;
    size_t thread_count, thread_room;
    struct strobe_sched_text_cpu *cpus;
    size_t cpu_count;
    uint64_t last_ns; /* time of the last line */

    struct strobe_sched_note *held; /* of threads that run or are runnable; see strobe_sched_text_hold */
    size_t held_count, held_room;
};

/* Adds a thread that exists. Returns false when out of memory. */
bool strobe_sched_text_know(struct strobe_sched_text *t, uint32_t pid, uint32_t tid);

/* Returns true if the thread is known and has not ended. */
bool strobe_sched_text_knows(const struct strobe_sched_text *t, uint32_t tid);

/* Holds a note FOUND, IN, of a thread that either runs or is runnable. The thread's next line says which. The caller
 * passes no events from held[0].event.time_ns on meanwhile. Returns false when out of memory. */
bool strobe_sched_text_hold(struct strobe_sched_text *t, const struct strobe_sched_note *note);

/* Adds the held notes: their threads have had no line, so they run. */
void strobe_sched_text_release(struct strobe_sched_text *t);

/* Takes a line. Lines of other events and of other threads are left out. The signature is that of a visitor of
 * ftrace_text.h; `ctx` is the struct strobe_sched_text. */
void strobe_sched_text_take(void *ctx, const struct strobe_ftrace_line *line);

void strobe_sched_text_free(struct strobe_sched_text *t);

#endif

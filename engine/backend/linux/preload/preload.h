/* The capture of a process, from its start to its end.
 *
 * Two libraries use this code. libstrobe-preload.so is loaded into a program that `strobe record` runs, and starts the
 * capture by itself (load.c). libstrobe-capture is linked into a program, which starts the capture by strobe_start. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_PRELOAD_H
#define STROBE_BACKEND_LINUX_PRELOAD_PRELOAD_H

#include "engine/backend/linux/host_linux.h"
#include "engine/capture/thread.h"

#include <stdbool.h>

/* Names of the environment variables by which the command passes parameters to the library, see environment.h. */
#define STROBE_ENV_SESSION "STROBE_SESSION"
#define STROBE_ENV_ONLY    "STROBE_ONLY"
#define STROBE_ENV_CONTROL "STROBE_CONTROL"

struct strobe_preload {
    struct strobe_engine *engine; /* of the present or the last capture */
    struct strobe_linux host;
    bool started;         /* this process has started a capture */
    bool follow;          /* child processes are recorded, too */
    uint32_t main_thread; /* index in the session's thread table, for time series; UINT32_MAX: not registered */
    uint64_t series_due_ticks;
    bool samples;   /* false: the session records only calls */
    bool forked;    /* the capture began some time after a fork (forked.h) */
    bool late;      /* strobe_start began the capture, while the program was running */
    bool stuck;     /* a thread of an ended capture has not ended, or not left the engine: no other capture starts */
    bool attached;  /* `strobe attach` has loaded the library into the running program (attach/attach.h) */
    bool may_start; /* the program links the library: each thread stores its stack's bounds for a later strobe_start */
};
extern struct strobe_preload strobe_preload;

/* Returns the calling thread's state in the present capture, or NULL: it is not registered. The state of an earlier
 * capture does not count. Any context. */
static inline struct strobe_thread *strobe_preload_thread(void)
{
    return strobe_local.capture == strobe_load_relaxed(&strobe_capture_number) ? strobe_local.thread : NULL;
}

/* Begins a capture into an attached session. Returns false when there is no memory; the program then runs without
 * capture. Main thread only: before the program's own code runs, or in a child right after the fork. */
bool strobe_preload_start(const struct strobe_session *session);

/* Starts the sampler's thread, which waits until strobe_preload_start_late needs it, or strobe_own_threads_stop ends
 * it. Starting a thread takes memory from the heap. Returns false on failure. */
bool strobe_preload_prepare_sampler(void);

/* Begins a capture into an attached session, the file `path`, while the program is running. With `paused`, events are
 * only counted until the capture is resumed. Returns false when there is no memory; the session is then unmapped. Any
 * thread. */
bool strobe_preload_start_late(const struct strobe_session *session, const char *path, bool paused);

/* Ends the capture as strobe_preload_close does, and its threads, and gives the stop signal back to the program.
 * Another capture may start then, unless `stuck` is set. Returns true when the session is closed. Not on a thread of
 * the capture. */
bool strobe_preload_end(void);

/* Stores the bounds of the calling thread's stack, for a capture that starts later. At the thread's start. May allocate
 * memory from the heap. */
void strobe_preload_note_stack(bool is_main);

/* Sends the stop signal to a thread of this process; the handler registers the thread. Has no effect when there is no
 * stop signal. Sampler, between passes. */
void strobe_preload_ask_to_register(uint32_t tid);

/* Registers the calling thread, which pthread_create's hook did not register, at its first hook. Returns NULL when
 * hooks on the thread only call through, while an engine thread starts, when no capture is on, or when the thread table
 * is full. In the last case the function also counts the event in `events_untracked`. */
struct strobe_thread *strobe_preload_attach_unknown(void);

/* Registers the calling thread with its stack's bounds. Returns NULL when no capture is on; also when the thread table
 * is full, and then counts one event in `events_untracked`. The main thread registers before the capture is on. At the
 * thread's start. May allocate memory from the heap. */
struct strobe_thread *strobe_preload_attach_known(bool is_main);

/* Ends the capture. No event is recorded after the function returns. The session is closed, unless a thread stays
 * inside the engine for more than a second. Further calls have no effect. A call during another thread's call waits for
 * that call, at most 0.2 s. In a forked child that waits for its capture, the function writes a session without
 * samples. Any thread. */
void strobe_preload_close(void);

/* Returns true when strobe_preload_close has ended, also when it could not close the session. Any context. */
bool strobe_preload_is_closed(void);

/* Ends the capture before an exec, or the wait of a forked child for its capture (forked.h). Returns false when this
 * process has neither a capture nor such a wait. */
bool strobe_preload_close_for_exec(void);

/* Continues the capture, or the wait of a forked child, after an exec that failed. */
void strobe_preload_reopen(void);

/* Counts a child process that is not recorded. Has no effect when children are followed. In the recorded process, or in
 * the child while it still has the mapping of the parent's session. Any context. */
void strobe_preload_count_child(void);

/* Calls strobe_preload_count_child when the calling process is a child by vfork of the recorded process. At an exec.
 * Such a child runs in its parent's memory, and its exec is the only call by which the library detects the child. */
void strobe_preload_count_vforked(void);

/* Writes to standard error that function `name` was called in the suspended window (guard.h), and aborts. */
_Noreturn void strobe_preload_offender(const char *name);

/* Returns true while this process has a running capture. Returns false on a thread that is restricted (restrict.h) and
 * in a child that runs in the memory of the recorded process. */
bool strobe_preload_is_recorded_process(void);

/* ---- hooks_method.c: capture of calls, see engine/method/entry.h */

/* The words beside strobe_switch, on the page that is zeroed in a forked child. */
struct strobe_method_page {
    strobe_a64 clock;
    strobe_a32 on;
};

/* Prepares the capture of calls when the session has a call log. The capture is off at first. Returns false when the
 * session has none, or when there is no memory. Start only. */
bool strobe_method_start(const struct strobe_preload *p, struct strobe_method_page *page);

/* Sets the switch of the capture: STROBE_ON, STROBE_OFF, or STROBE_PAUSED until the session's delay is over. */
void strobe_method_switch(uint32_t on);

/* Discards the parent's state. In the child of a fork. */
void strobe_method_forget(void);

#endif

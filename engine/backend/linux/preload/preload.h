/* Life of a capture inside a program that did not ask for it: libstrobe-preload.so. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_PRELOAD_H
#define STROBE_BACKEND_LINUX_PRELOAD_PRELOAD_H

#include "engine/backend/linux/host_linux.h"
#include "engine/capture/thread.h"

#include <stdbool.h>

/* Environment by which the command and the library agree, see environment.h. */
#define STROBE_ENV_SESSION "STROBE_SESSION"
#define STROBE_ENV_ONLY    "STROBE_ONLY"

struct strobe_preload {
    struct strobe_engine engine;
    struct strobe_linux host;
    bool started; /* a session is attached and was started by this process */
    bool follow;
    uint32_t main_thread; /* for which time series are written; index in the session's table */
    uint64_t series_due_ticks;
    bool samples;   /* taken at all, or calls only */
    bool forked;    /* the capture began some time after a fork, not at an exec (forked.h) */
    bool late;      /* the capture began by strobe_start, in the middle of the program's life */
    bool may_start; /* the library is a part of the program: each thread notes its stack for a later strobe_start */
};
extern struct strobe_preload strobe_preload;

/* Begins a capture into an attached session, before the program's own code runs. By the main thread. Returns false when
 * memory is short: the program runs on, not traced. */
bool strobe_preload_start(const struct strobe_session *session);

/* Begins a capture into an attached session, in the middle of the program's life. Any thread. Returns false when memory
 * is short. */
bool strobe_preload_start_late(const struct strobe_session *session, bool paused);

/* Notes the bounds of the calling thread's stack, for a capture that starts later. At the thread's start; may allocate.
 */
void strobe_preload_note_stack(bool is_main);

/* Asks a thread of this process to register, by the stop signal. Sampler, between passes. */
void strobe_preload_ask_to_register(uint32_t tid);

/* Registers a thread that meets its first hook without having come through pthread_create; NULL when it is not to be
 * traced. Counts events of threads the table has no room for. */
struct strobe_thread *strobe_preload_attach_unknown(void);

/* Registers the calling thread with its stack's bounds. At its start. */
struct strobe_thread *strobe_preload_attach_known(bool is_main);

/* Ends the capture in order: no event is taken after it returns. Idempotent. */
void strobe_preload_close(void);

/* True once the session is closed, or could not be. Any context. */
bool strobe_preload_is_closed(void);

/* The same before an exec, also of a forked child whose capture has not begun. False when this process is neither. */
bool strobe_preload_close_for_exec(void);

/* Takes it up again after an exec that failed. */
void strobe_preload_reopen(void);

/* Counts a child process that was started and is not followed. In the recorded process, or in that child as long as it
 * shares the session's mapping. Any context. */
void strobe_preload_count_child(void);

/* The same for the caller of an exec, when it is a child by vfork of the recorded process: such a child runs in the
 * memory of its parent, and nothing but its exec is seen. */
void strobe_preload_count_vforked(void);

/* Says who did what in the suspended window, and aborts. */
_Noreturn void strobe_preload_offender(const char *name);

/* True in the process that was recorded from the start (not its children), while it is traced. */
bool strobe_preload_is_recorded_process(void);

#endif

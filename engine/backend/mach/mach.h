/* Start and stop of a capture in an iOS or macOS app.
 *
 *   load of the library     the constructor starts a capture when the environment asks for one (load.c)
 *   strobe_start            the app starts a capture at a time of its choice, into a session that the start creates
 *   strobe_mach_start       the same, with options of this backend
 *   strobe_mach_stop        removes the hooks and closes the session; the library's destructor calls it
 *
 * The start makes two threads, the sampler (with time-constraint policy) and the watchdog. It makes neither when the
 * session has no sampling interval. It then installs the hooks of events.h in all images and turns the switch on. When
 * a step fails, the start undoes its steps and stores one line in `error`. The app then runs on without a capture. */
#ifndef STROBE_BACKEND_MACH_MACH_H
#define STROBE_BACKEND_MACH_MACH_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/include/strobe/capture.h"

#include <stddef.h>
#include <stdint.h>

#define STROBE_MACH_API __attribute__((visibility("default")))

/* Groups of hooks, as bits of strobe_mach_options.without. */
enum strobe_mach_use {
    STROBE_MACH_MALLOC,   /* malloc_logger: allocations, releases */
    STROBE_MACH_LOCKS,    /* pthread mutex, rwlock, condition, join; os_unfair_lock; wakers */
    STROBE_MACH_DISPATCH, /* dispatch sync, async, once, semaphore, group wait */
    STROBE_MACH_IO,       /* files, sockets, polls, sleeps */
    STROBE_MACH_TIME,     /* reads of the clock */
    STROBE_MACH_SERIES, /* process CPU, memory footprint, threads, Mach traps; hitches and hangs of the main run loop */
    STROBE_MACH_USES
};

struct strobe_mach_options {
    const char *session_path; /* an existing, fresh session (strobe_session_create); unused with `create` */
    /* NULL, or the options of strobe_start (strobe/capture.h): the start creates the session, and removes it again when
     * a later step fails. */
    const struct strobe_capture_options *create;
    uint32_t without; /* groups to leave out: bit 1 << enum strobe_mach_use */
};

struct strobe_mach_status {
    uint32_t on;                    /* installed groups: bit 1 << enum strobe_mach_use */
    char off[STROBE_MACH_USES][96]; /* by group: why it is not installed; "" = it is installed */
};

/* Begins a capture. On failure no hook is installed, and `error` has one line. `status` may be NULL; it is written on
 * success only.
 *
 *   STROBE_EXISTS        a capture is in progress, an earlier capture did not end completely, or this process was
 *                        forked from one that had started a capture
 *   STROBE_UNSUPPORTED   no pthread key is left
 *   STROBE_IO            no memory for the engine, or its threads cannot be made
 *   other                the result of strobe_session_open or strobe_session_attach; with `create`, of strobe_start
 *
 * Any thread that holds no lock of the dynamic loader. */
STROBE_MACH_API enum strobe_status strobe_mach_start(const struct strobe_mach_options *options,
                                                     struct strobe_mach_status *status, struct strobe_error *error);

/* Ends the capture: removes the hooks, releases all port rights and closes the session. No thread stays suspended. Has
 * no effect when no capture is in progress.
 *
 * A thread of the app may stay in the engine for longer than a second, for example because another thread suspended it
 * there. The session then stays open, the engine's memory stays mapped, and no other capture can begin in this process.
 * When a hooked pointer cannot be restored, the session is closed, but no other capture can begin either. Any thread
 * except the engine's own. */
STROBE_MACH_API void strobe_mach_stop(void);

#endif

/* Capture in an iOS or macOS app: the life of it.
 *
 *   the library is loaded       when STROBE_SESSION names a session, capture begins in its constructor
 *   strobe_mach_start           the same, when the app wants
 *   strobe_mach_stop            hooks out, session closed
 *
 * Start makes a thread for the sampler (of time-constraint policy) and one for the watchdog, puts the hooks of events.h
 * in place in all images, and turns the switch on. Whatever fails on the way is taken back: the app runs on as if it
 * had not been asked, with one line in `error`. */
#ifndef STROBE_BACKEND_MACH_MACH_H
#define STROBE_BACKEND_MACH_MACH_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

#define STROBE_MACH_API __attribute__((visibility("default")))

/* Groups of hooks, as bits of strobe_mach_options.without. */
enum strobe_mach_use {
    STROBE_MACH_MALLOC,   /* malloc_logger: allocations, releases */
    STROBE_MACH_LOCKS,    /* pthread mutex, rwlock, condition; os_unfair_lock; who let whom go */
    STROBE_MACH_DISPATCH, /* dispatch sync, async, once, semaphore, group wait */
    STROBE_MACH_IO,       /* files, sockets, polls, sleeps */
    STROBE_MACH_TIME,     /* reads of the clock */
    STROBE_MACH_SERIES,   /* process CPU, memory footprint, threads; hitches and hangs of the main run loop */
    STROBE_MACH_USES
};

struct strobe_mach_options {
    const char *session_path; /* an existing, fresh session (strobe_session_create) */
    uint32_t without;         /* bit per enum strobe_mach_use: not wanted */
};

struct strobe_mach_status {
    uint32_t on;                    /* groups in place */
    char off[STROBE_MACH_USES][96]; /* why each other one is not; "" = it is on */
};

/* Begins a capture. STROBE_EXISTS: one is under way. STROBE_UNSUPPORTED, STROBE_BAD_INPUT, STROBE_IO and what
 * strobe_session_attach says: nothing was changed, `error` has one line. `status` may be NULL. Any thread, with no lock
 * of the loader's held. */
STROBE_MACH_API enum strobe_status strobe_mach_start(const struct strobe_mach_options *options,
                                                     struct strobe_mach_status *status, struct strobe_error *error);

/* Ends it: no hook is left in place, no thread suspended, no right held, the session is CLOSED. Harmless when none is
 * under way. When a thread of the app's stays in the engine for longer than a second, for somebody has suspended it
 * there, the session is left open and nothing is taken from under it: no other capture can begin in this process. Any
 * thread but the engine's own. */
STROBE_MACH_API void strobe_mach_stop(void);

#endif

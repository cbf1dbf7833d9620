/* Capture in an Android app, or in another process that has started an Android runtime: its life cycle.
 *
 *   System.loadLibrary("strobe")   a capture begins when the environment, a property or a file asks for one (load.c).
 *                                  Android's log gets a line for each feature that is off.
 *   strobe_start                   the app starts a capture at a time of its choice (strobe/capture.h, app.c)
 *   strobe_art_start               the same, with options of this backend
 *   strobe_art_status              says which features are on, why others are off, and what makes the inline hooks
 *   strobe_art_stop                removes the hooks, names the methods, closes the session
 *
 * The variable STROBE_ART_HOOKING chooses the inline hooks: any, shadowhook, detours, none.
 *
 * Start finds the runtime's functions and objects (libart.h, discover.h), creates one thread of the runtime for the
 * sampler and one for the watchdog, installs the hooks of events.h, and turns the switch on. After a failure start
 * undoes what it has done: the app runs on unchanged, and `error` has one line. A feature that lacks a function of the
 * runtime, or a hook, stays off. */
#ifndef STROBE_BACKEND_ART_ART_H
#define STROBE_BACKEND_ART_ART_H

#include "engine/backend/art/hooks/hooker.h"
#include "engine/backend/art/libart.h"
#include "engine/base/error.h"
#include "engine/include/strobe/capture.h"
#include "engine/store/session.h"

#define STROBE_ART_API __attribute__((visibility("default")))

struct strobe_art_options {
    const char *session_path; /* an existing, fresh session (strobe_session_create); unused with `create` */
    /* NULL, or the options of strobe_start (strobe/capture.h): the start creates the session, and removes it again when
     * a later step fails. */
    const struct strobe_capture_options *create;
    const char *library; /* the runtime's library; NULL = "libart.so" */
    int api; /* the runtime's API level; 0 = the property ro.build.version.sdk, or the variable STROBE_ART_API without
                properties */
    const struct strobe_inline_hooker *hooker; /* NULL = as `hooking` says */
    enum strobe_art_hooking hooking;           /* hooker.h; 0 = the best that there is */
    /* Stacks with managed frames only. Otherwise they have native frames, too (frames.h). A native frame costs about
     * 3 ns by frame pointer and 20 ns by call frame information, beside the managed frames of the same stack; a thread
     * that the sampler visits gets a signal. */
    bool managed_only;
};

/* Features, as bits by enum strobe_art_use. */
struct strobe_art_status {
    uint32_t on;                   /* features that are on */
    char off[STROBE_ART_USES][96]; /* why each other feature is off; "" = it is on */
    char hooker[96];               /* name of the inline hooker, or "none: " and why there is none */
    bool stops;                    /* ALLOC is on, but its start and end stop all threads for a short time */
    uint32_t native_slots;         /* slots of libraries that lead to hooks of the C library, at the start */
};

/* Starts a capture. By a thread that is attached to the runtime. STROBE_EXISTS: a capture runs already.
 * STROBE_UNSUPPORTED, STROBE_NO_ENTRY, STROBE_BAD_INPUT, STROBE_IO and the codes of strobe_session_attach: the process
 * is unchanged, and `error` has one line. `vm` is the JavaVM; `status` may be NULL. */
STROBE_ART_API enum strobe_status strobe_art_start(void *vm, const struct strobe_art_options *options,
                                                   struct strobe_art_status *status, struct strobe_error *error);

/* Copies the status of the capture that runs, or ran last. STROBE_NO_ENTRY: there was none. Any thread, not while a
 * capture starts. */
STROBE_ART_API enum strobe_status strobe_art_status(struct strobe_art_status *out);

/* Ends the capture. Afterwards no hook is installed, no thread is suspended, the methods are named, and the session is
 * CLOSED. The function does nothing when no capture runs. By an attached thread. */
STROBE_ART_API void strobe_art_stop(void);

#endif

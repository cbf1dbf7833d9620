/* Capture in an Android app, or in whatever started an Android runtime: the life of it.
 *
 *   System.loadLibrary("strobe")   JNI_OnLoad notes the JavaVM; when STROBE_SESSION names a session, capture begins
 *   strobe_art_start               the same, when the app wants
 *   strobe_art_stop                hooks out, methods named, session closed
 *
 * Start finds the runtime's functions and objects (libart.h, discover.h), makes one thread of the runtime's for the
 * sampler and one for the watchdog, puts the hooks of events.h in place, and turns the switch on. Whatever fails on the
 * way is taken back: the app runs on as if it had not been asked, with one line in `error`. What a feature lacks leaves
 * that feature off, in strobe_art_status's words. */
#ifndef STROBE_BACKEND_ART_ART_H
#define STROBE_BACKEND_ART_ART_H

#include "engine/backend/art/hooks/hook.h"
#include "engine/backend/art/libart.h"
#include "engine/base/error.h"
#include "engine/store/session.h"

#define STROBE_ART_API __attribute__((visibility("default")))

struct strobe_art_options {
    const char *session_path;                  /* an existing, fresh session (strobe_session_create) */
    const char *library;                       /* the runtime's library; NULL = "libart.so" */
    int api;                                   /* its level; 0 = the property ro.build.version.sdk, or where there are
    none the environment's STROBE_ART_API */
    const struct strobe_inline_hooker *hooker; /* NULL = none */
};

/* Features, as bits by enum strobe_art_use. */
struct strobe_art_status {
    uint32_t on;                   /* features in place */
    char off[STROBE_ART_USES][96]; /* why each other one is not; "" = it is on */
};

/* Begins a capture. By a thread that is attached to the runtime. STROBE_EXISTS: one is under way. STROBE_UNSUPPORTED,
 * STROBE_NO_ENTRY, STROBE_BAD_INPUT, STROBE_IO and what strobe_session_attach says: nothing was changed, `error` has
 * one line. `vm` is the JavaVM; `status` may be NULL. */
STROBE_ART_API enum strobe_status strobe_art_start(void *vm, const struct strobe_art_options *options,
                                                   struct strobe_art_status *status, struct strobe_error *error);

/* Ends it: no hook is left in place, no thread suspended, methods are named, the session is CLOSED. Harmless when none
 * is under way. By an attached thread. */
STROBE_ART_API void strobe_art_stop(void);

#endif

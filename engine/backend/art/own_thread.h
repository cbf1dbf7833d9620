/* One thread of the engine's own in a runtime: attached to it as a daemon, given none of the app's signals, never
 * traced. Start and end only. */
#ifndef STROBE_BACKEND_ART_OWN_THREAD_H
#define STROBE_BACKEND_ART_OWN_THREAD_H

#include "engine/backend/art/jni.h"
#include "engine/base/atomic.h"
#include "engine/base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Zero but for name and work at first; it lives as long as the process. */
struct strobe_art_own {
    const char *name;
    void (*work)(void);
    struct strobe_jvm *vm;
    pthread_t thread;
    strobe_a32 state;
    bool there;
};

/* It runs and is attached; false with one phrase in `error`: it is not there, or not attached within a few seconds. */
bool strobe_art_own_begin(struct strobe_art_own *o, struct strobe_jvm *vm, struct strobe_error *error);

/* Waits for the end of its work, which the caller has asked for, for a few seconds at most: true when it has ended.
 * Harmless when it is not there. */
bool strobe_art_own_end(struct strobe_art_own *o);

#endif

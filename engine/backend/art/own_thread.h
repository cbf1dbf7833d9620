/* One thread of the engine in a runtime. The thread is attached as a daemon, gets none of the app's signals, and is
 * never traced. Start and end only. */
#ifndef STROBE_BACKEND_ART_OWN_THREAD_H
#define STROBE_BACKEND_ART_OWN_THREAD_H

#include "engine/backend/art/jni.h"
#include "engine/base/atomic.h"
#include "engine/base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Zero except for name and work at first. It lives as long as the process. */
struct strobe_art_own {
    const char *name;
    void (*work)(void);
    struct strobe_jvm *vm;
    pthread_t thread;
    strobe_a32 state;
    bool there;
};

/* Starts the thread. Returns true once it runs and is attached. Returns false, with one phrase in `error`, when it
 * could not be created or did not attach within a few seconds. */
bool strobe_art_own_begin(struct strobe_art_own *o, struct strobe_jvm *vm, struct strobe_error *error);

/* Waits for the end of its work, for a few seconds at most. The caller has asked the work to end. Returns true when it
 * has ended. The function does nothing when there is no thread. */
bool strobe_art_own_end(struct strobe_art_own *o);

#endif

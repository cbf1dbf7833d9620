/* Brings the library of `strobe attach` into a process, and removes what it has left there.
 *
 * One thread of the process at a safe point (safe.h) calls dlopen, dlsym and strobe_attach_begin. Only this thread is
 * stopped; the others go on. A child process of the command is the tracer, so a command that is killed leaves no thread
 * in the middle of such a call. */
#ifndef STROBE_CMD_ATTACH_INJECT_H
#define STROBE_CMD_ATTACH_INJECT_H

#include "engine/backend/linux/attach/attach.h"
#include "engine/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The library in the process. */
struct strobe_injected {
    bool done;
    bool refused;        /* the system does not allow it */
    uint64_t state;      /* address of its struct strobe_attach_state */
    uint64_t stopped_ns; /* time for which threads of the process were stopped, in all */
    uint32_t threads_stopped;
    struct strobe_error error; /* why it is not there */
};

/* Loads the library `library` into the process, and starts its capture into `session`; both are absolute paths. */
void strobe_inject(pid_t pid, const char *library, const char *session, struct strobe_injected *out);

/* Ends the library's helper and unloads the library, by one thread again. Adds to out->stopped_ns. Returns false when
 * that failed; the library then stays until the helper unloads it. */
bool strobe_inject_end(pid_t pid, const struct strobe_attach_state *state, struct strobe_injected *out);

#endif

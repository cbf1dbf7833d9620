/* Code and stacks of another process, by libdw: functions by name, and the frames of a stopped thread. All files are
 * read before a thread is stopped, so that the stop is short. */
#ifndef STROBE_CMD_ATTACH_FRAMES_H
#define STROBE_CMD_ATTACH_FRAMES_H

#include "engine/cmd/attach/safe.h"
#include "engine/cmd/attach/tracee.h"

#include <elfutils/libdwfl.h>

enum { STROBE_FRAMES_MAX = 512 };

struct strobe_remote {
    pid_t pid;
    Dwfl *dwfl;
    const struct strobe_tracee *tracee;       /* the thread that is walked */
    uint64_t dlopen, dlsym, dlclose, dlerror; /* addresses of functions */
    struct strobe_frame frames[STROBE_FRAMES_MAX];
    size_t count;
};

/* Reads the process's mappings and files. Returns NULL, or a phrase that says why not. */
const char *strobe_remote_open(struct strobe_remote *r, pid_t pid);
void strobe_remote_close(struct strobe_remote *r);

/* Returns NULL when the stopped thread is at a safe point, else what it does. */
const char *strobe_remote_unsafe(struct strobe_remote *r, const struct strobe_tracee *t);

#endif

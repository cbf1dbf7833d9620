/* The system's own trace beside a capture: what the kernel and the system's processes did meanwhile. The program
 * perfetto writes it, or atrace where there is no perfetto, on the device or on this machine. The file is fetched after
 * the capture and removed there.
 *
 *   OFF ------> RUNS     strobe_system_begin, before the capture begins, or before the app is restarted for it
 *   RUNS -----> WRITTEN  strobe_system_end, after the capture has ended
 *   WRITTEN --> OFF      strobe_system_fetch; strobe_system_append makes it a part of the app's trace
 *   any ------> OFF      strobe_system_leave
 *
 * A failure is one line on standard error, and the capture goes on without the system's trace. */
#ifndef STROBE_CMD_CAPTURE_SYSTEM_H
#define STROBE_CMD_CAPTURE_SYSTEM_H

#include "engine/cmd/capture/adb.h"

#include <limits.h>

enum strobe_system_stage { STROBE_SYSTEM_OFF, STROBE_SYSTEM_RUNS, STROBE_SYSTEM_WRITTEN };

struct strobe_system {
    const struct strobe_adb *adb; /* NULL: this machine */
    enum strobe_system_stage stage;
    bool has_perfetto; /* else atrace runs */
    int pid;           /* of perfetto */
    char file[128];    /* where the program writes */
    char said[128];    /* where it prints */
};

/* Stores the name of the trace's file: `stem` with .system.perfetto-trace, or .system.atrace. Returns false when it is
 * too long. */
bool strobe_system_name(const char *stem, bool has_perfetto, char path[PATH_MAX]);

/* Begins a trace of the categories, which are separated by commas. */
void strobe_system_begin(struct strobe_system *s, const char *categories);
void strobe_system_end(struct strobe_system *s);

/* Writes the trace to its file beside the session. Returns whether there is one; `path` is its name then. */
bool strobe_system_fetch(struct strobe_system *s, const char *stem, bool replace, char path[PATH_MAX]);

/* Appends the file of a system's trace to a trace, when both are Perfetto's format. The packets of both have ids of
 * their own, and each file has snapshots of the clocks, so that one trace shows both. Replaces `output` as a whole, and
 * removes `system`; on failure both stay. STROBE_IO with errno. */
enum strobe_status strobe_system_append(const char *system, const char *output);

/* Ends a trace that runs and removes its file, without a word. */
void strobe_system_leave(struct strobe_system *s);

#endif

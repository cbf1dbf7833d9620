/* Stores in a session the names of the machine code that its process generated.
 *
 * A process that generates code lists it in files (perf_map.h, jitdump.h). The next process with the same id overwrites
 * them, so `strobe record` copies the names when the program has ended. It copies only names of addresses that are in
 * the session's stacks and in no image. They become entries of the session's names (store/names.h, STROBE_NAME_CODE).
 * The session grows by a region of names, or by the space that the additional names need.
 *
 * Reading half: allocates. */
#ifndef STROBE_TRACE_SYMBOLS_JIT_NAMES_H
#define STROBE_TRACE_SYMBOLS_JIT_NAMES_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_jit_names {
    uint64_t addresses;  /* addresses in stacks of the session and in no image */
    uint64_t named;      /* of these, addresses that have a name now */
    uint64_t names;      /* entries written to the session */
    unsigned files;      /* files read */
    uint64_t bad;        /* malformed lines or records of these files */
    char first_bad[512]; /* the first malformed one: "FILE:LINE" or "FILE: byte N" */
    char unused[600];    /* why an existing file was not read: "FILE: reason"; "" = none */
};

/* Finds the files of the session's process, reads them, and writes the names to the session. Places of the files:
 *
 *     /tmp/perf-PID.map
 *     jit-PID.dump         at the path that the process mapped, from the session's table of images; else in `folder`,
 *                          in /tmp, and in the directories of $JITDUMPDIR/.debug/jit and ~/.debug/jit
 *
 * A file is read if it is a regular file of this user, and not older than the session's begin. A session without
 * addresses outside of images is not changed. Call it when the process has ended. Names of code that the session
 * already holds are replaced.
 *
 * STROBE_NO_ENTRY: there is nothing to name, or no file. STROBE_FULL: the names exceed the space of a session.
 * Otherwise as strobe_session_open; STROBE_IO with errno. */
enum strobe_status strobe_jit_names_keep(const char *session, const char *folder, struct strobe_jit_names *out);

/* Writes to `output` the session of the file `session`, with names of code from the files `paths`, whatever process or
 * user they belong to. A file is a jitdump file if it begins as one, else a perf map. `replace`: an existing `output`,
 * also the session itself, may be overwritten. STROBE_NO_ENTRY: no file has a name for an address of the session.
 * STROBE_EXISTS; otherwise as strobe_jit_names_keep. out->unused has the reason if a file could not be read. */
enum strobe_status strobe_jit_names_add(const char *session, const char *output, int replace, const char *const *paths,
                                        size_t count, struct strobe_jit_names *out);

#endif

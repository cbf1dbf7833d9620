/* Keeps with a session the names of the machine code that its process generated.
 *
 * A process that generates code lists it in files of its own (perf_map.h, jitdump.h). The next process of the same id
 * overwrites them, so `strobe record` copies what it needs when the program has ended. Only the names of addresses that
 * are in the session's stacks and in no image are copied; they become entries of the session's names (store/names.h,
 * STROBE_NAME_CODE). The session grows by a region of names, or by the room that more names take.
 *
 * Reading half: allocates. */
#ifndef STROBE_TRACE_SYMBOLS_JIT_NAMES_H
#define STROBE_TRACE_SYMBOLS_JIT_NAMES_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_jit_names {
    uint64_t addresses;  /* in stacks of the session, and in no image */
    uint64_t named;      /* of these, how many have a name now */
    uint64_t names;      /* entries that were written to the session */
    unsigned files;      /* files that were read */
    uint64_t bad;        /* lines or records of these files that do not have the form of their format */
    char first_bad[512]; /* "FILE:LINE" or "FILE: byte N" of the first of them */
    char unused[600];    /* why a file that is there was not read: "FILE: reason"; "" = none */
};

/* Finds the files of the session's own process, reads them, and writes the names to the session. Files are looked for
 * at these places:
 *
 *     /tmp/perf-PID.map
 *     jit-PID.dump         where the session's table of images says that the process mapped one; else in `folder`, in
 *                          /tmp, and in the folders of $JITDUMPDIR/.debug/jit and ~/.debug/jit
 *
 * A file is read when it is a regular file of this user, and not older than the session's begin. A session without
 * addresses outside of images is left as it is. Call it when the process has ended. Names of code that the session held
 * before are replaced.
 * STROBE_NO_ENTRY: there is nothing to name, or no file. STROBE_FULL: the names take more room than a session has.
 * Otherwise as strobe_session_open; STROBE_IO with errno. */
enum strobe_status strobe_jit_names_keep(const char *session, const char *folder, struct strobe_jit_names *out);

/* Writes to `output` the session of the file `session` with names of code from the files that `paths` names, whatever
 * process or user they belong to. Each is a jitdump file if it begins as one, else a perf map. `replace`: an existing
 * `output` may be overwritten, also by itself. STROBE_NO_ENTRY: none of the files has a name for an address of the
 * session. STROBE_EXISTS; otherwise as strobe_jit_names_keep. out->unused tells why a file could not be read. */
enum strobe_status strobe_jit_names_add(const char *session, const char *output, int replace, const char *const *paths,
                                        size_t count, struct strobe_jit_names *out);

#endif

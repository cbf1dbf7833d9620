/* A session of an Apple system with its images' names found: the same file, but that its images are where their debug
 * information is on this machine. Whoever reads the session then has functions, inlined ones, files and lines from
 * there.
 *
 * Reading half: allocates. Any thread. */
#ifndef STROBE_TRACE_SYMBOLS_DSYM_H
#define STROBE_TRACE_SYMBOLS_DSYM_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { STROBE_DSYM_DEPTH_MAX = 8 }; /* of folders looked into */

struct strobe_dsym_found {
    uint32_t images;     /* of the session that have a UUID, */
    uint32_t found;      /* and a file was found for, */
    uint32_t with_dwarf; /* with debug information */
    uint32_t damaged;    /* files in folders that are Mach-O, but can't be read: passed over */
};

/* Looks for files with the UUIDs of the session's images and writes the session to `output`. `paths`: .dSYM bundles,
 * the DWARF files in them, programs or libraries, or folders that are searched for all of these; of several files of
 * one UUID one with debug information is taken, else the first. `replace`: an existing `output` may be overwritten,
 * also by itself.
 *
 * STROBE_BAD_INPUT: no session, or none with UUIDs; a path with nothing in it that belongs to the session; a file that
 * was named and can't be read. STROBE_EXISTS, STROBE_IO. `error` has one line. */
enum strobe_status strobe_dsym(const char *session, const char *output, const char *const *paths, size_t path_count,
                               int replace, struct strobe_dsym_found *out, struct strobe_error *error);

#endif

/* Copies a session of an Apple system or of Android and sets the paths of its images to the files with their debug
 * information on this machine: Mach-O files by UUID, ELF files by build id. Readers of the copy get functions, inlined
 * functions, files and lines from these files.
 *
 * Reading half: allocates. Any thread. */
#ifndef STROBE_TRACE_SYMBOLS_DSYM_H
#define STROBE_TRACE_SYMBOLS_DSYM_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { STROBE_DSYM_DEPTH_MAX = 8 }; /* depth of directories that are searched */

struct strobe_dsym_found {
    uint32_t images;     /* images of the session with a UUID or build id */
    uint32_t found;      /* of these, images with a file */
    uint32_t with_dwarf; /* of these, images whose file has debug information */
    uint32_t damaged;    /* unreadable Mach-O files in directories, ignored */
};

/* Finds files with the UUIDs or build ids of the session's images and writes the session to `output`. `paths` are .dSYM
 * bundles, the DWARF files in them, programs, libraries, or directories that are searched for all of these. Of several
 * files of one image, one with debug information is preferred, then one with a symbol table (.symtab or
 * .gnu_debugdata), then the first. `replace`: an existing `output`, also the session itself, may be overwritten.
 *
 * STROBE_BAD_INPUT: not a session, or one without UUIDs; a path without a file that belongs to the session; a named
 * file that cannot be read. STROBE_EXISTS, STROBE_IO. `error` has one line. */
enum strobe_status strobe_dsym(const char *session, const char *output, const char *const *paths, size_t path_count,
                               int replace, struct strobe_dsym_found *out, struct strobe_error *error);

#endif

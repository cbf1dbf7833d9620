/* A session with its managed methods named anew: the same file, but for its region of names. Reading half:
 * allocates. */
#ifndef STROBE_TRACE_SYMBOLS_SYMBOLIZE_H
#define STROBE_TRACE_SYMBOLS_SYMBOLIZE_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/symbols/mapping.h"

#include <stdint.h>

struct strobe_symbolized {
    uint64_t names, changed;
};

/* Writes to `output` the session of the file `session`, with each name as the mapping says that it was. `replace`: an
 * existing `output` may be overwritten, also by itself. STROBE_EXISTS; STROBE_BAD_INPUT: no session, or one without
 * names of managed methods; STROBE_FULL: its names take more room than a session has; STROBE_IO. `error` has one line.
 */
enum strobe_status strobe_symbolize(const char *session, const char *output, const struct strobe_mapping *mapping,
                                    int replace, struct strobe_symbolized *out, struct strobe_error *error);

#endif

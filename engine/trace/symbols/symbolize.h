/* Copies a session and restores the names of its managed methods. Only the region of names differs. Reading half:
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

/* Writes to `output` the session of the file `session`, with the original of each name from the mapping. `replace`: an
 * existing `output`, also the session itself, may be overwritten. STROBE_EXISTS. STROBE_BAD_INPUT: not a session, or
 * one without names of managed methods. STROBE_FULL: the names exceed the space of a session. STROBE_IO. `error` has
 * one line. */
enum strobe_status strobe_symbolize(const char *session, const char *output, const struct strobe_mapping *mapping,
                                    int replace, struct strobe_symbolized *out, struct strobe_error *error);

#endif

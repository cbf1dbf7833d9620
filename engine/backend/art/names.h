/* Names of the methods in a session's stacks. They are made in one run at the end, and in one while the capture runs:
 * before a client fetches a copy of the session, and after each dump of the flight recorder.
 *
 * A run visits all distinct addresses of the stack table that have no name yet. Each address that is proven to be a
 * live ArtMethod gets the text of the runtime's PrettyMethod in the session's names (store/names.h). The runtime's
 * threads run between batches of STROBE_ART_NAMES_BATCH addresses. During a batch all of them are suspended
 * (SuspendAll): the collector then moves no class, and no class is unloaded.
 *
 * A pointer is stale when its method was unloaded: its memory is unmapped or has other content. The test uses safe
 * copies, before the runtime reads the method. The method must be readable. Its class must be a class (the class of its
 * class is its own class). Its dex_method_index must not be that of pseudo-methods. Its address must be in or beside an
 * array of methods of that class, as far as this is known. A stale pointer gets the name "unloaded method 0x..." and is
 * counted; only the run at the end does this, because the session may lack an image of a running capture. An address in
 * one of the session's images is that of a native frame, and gets no name here. */
#ifndef STROBE_BACKEND_ART_NAMES_H
#define STROBE_BACKEND_ART_NAMES_H

#include "engine/backend/art/discover.h"
#include "engine/store/session.h"

enum { STROBE_ART_NAMES_BATCH = 256 };

struct strobe_art_names {
    uint32_t named, stale, refused;
}; /* refused: the session's names are full */

/* Names the methods that have no name yet. STROBE_UNSUPPORTED: the runtime lacks the functions (libart's use NAMES),
 * and nothing is written. `at_end`: capture is off, and no thread writes the session. By an attached thread, one at a
 * time. */
enum strobe_status strobe_art_name_methods(const struct strobe_libart *a, const struct strobe_art_runtime *r,
                                           const struct strobe_host *host, struct strobe_session *session, bool at_end,
                                           struct strobe_art_names *out);

/* Copies the text of PrettyMethod to `out`. Returns false when the method is stale. The runtime's other threads must be
 * suspended, or the method be known to be live. For tests and tools. */
bool strobe_art_method_name(const struct strobe_libart *a, const struct strobe_host *host, uint64_t method, char *out,
                            size_t bytes);

#endif

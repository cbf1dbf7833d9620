/* Names of the methods in a session's stacks: made once, at the end, in one batch.
 *
 * All distinct addresses of the stack table are looked at; each that proves to be a living ArtMethod gets the runtime's
 * PrettyMethod text in the session's region of names (store/names.h). Between batches of STROBE_ART_NAMES_BATCH the
 * runtime runs; within one all its threads are suspended (SuspendAll), so that neither the collector moves a class nor
 * is one unloaded while it is read.
 *
 * A pointer is stale when its method was unloaded: its memory is gone or holds something else. It is tested by safe
 * copies before the runtime is asked: readable, its class a class (the class of its class is its own class), its
 * dex_method_index not the pseudo-methods', the address within or beside an array of methods of that class as far as
 * can be told. A stale one gets the placeholder "unloaded method 0x..." and is counted. */
#ifndef STROBE_BACKEND_ART_NAMES_H
#define STROBE_BACKEND_ART_NAMES_H

#include "engine/backend/art/discover.h"
#include "engine/store/session.h"

enum { STROBE_ART_NAMES_BATCH = 256 };

struct strobe_art_names {
    uint32_t named, stale, refused;
}; /* refused: the region of names is full */

/* STROBE_UNSUPPORTED: the runtime lacks what it takes (libart's use NAMES); nothing is written. At the end, by an
 * attached thread, with capture off. */
enum strobe_status strobe_art_name_methods(const struct strobe_libart *a, const struct strobe_art_runtime *r,
                                           const struct strobe_host *host, struct strobe_session *session,
                                           struct strobe_art_names *out);

/* PrettyMethod as text of the caller's; false when the method is stale. For tests and tools; the runtime's other
 * threads must be suspended, or the method be known to live. */
bool strobe_art_method_name(const struct strobe_libart *a, const struct strobe_host *host, uint64_t method, char *out,
                            size_t bytes);

#endif

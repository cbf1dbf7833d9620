/* Copies a session while its process goes on writing it: a session of its own, in memory, that readers accept.
 *
 * The copy is laid out anew, as large as its content, so that fetching it costs what was recorded and not what was
 * reserved. It holds:
 *
 *   accounts  of each thread, as of the begin of the copy
 *   records   that the ring holds when the copy passes them. Records that end before `since` are left out
 *   stacks    all nodes that are published when the records are copied: those of each record are among them
 *   images, names, and the header, as of the end of the copy
 *
 * The accounting of the copy is consistent. A sample that was counted when the copy began and that is not in it counts
 * as overwritten. Samples that were taken later count when they are in the copy. Samples that the ring still holds and
 * that end before `since` do not count. Requests in progress are left out. The accounts of a closed session do not
 * change, so the copy has the same.
 *
 * The call log of a session has no such copy: STROBE_UNSUPPORTED.
 *
 * The copying thread reads shared memory as a reader does (ring.h, stack_table.h) and writes none of it. Writers
 * neither wait nor lose anything. One call at a time on a destination; any thread; no heap. */
#ifndef STROBE_STORE_SESSION_COPY_H
#define STROBE_STORE_SESSION_COPY_H

#include "engine/store/session.h"

/* The size of a copy: what the session holds now, with some reserve for what is written until the copy is made. */
struct strobe_session_copy {
    struct strobe_config config;
    uint64_t bytes; /* of memory, whole pages */
};

/* Measures. `since_ticks` 0: all records. STROBE_UNSUPPORTED: the session has a call log. */
enum strobe_status strobe_session_copy_measure(const struct strobe_session *from, uint64_t since_ticks,
                                               struct strobe_session_copy *out);

/* Copies into zeroed, page-aligned memory of copy->bytes. STROBE_FULL: the copy is complete except for records that
 * found no space, which count as overwritten. */
enum strobe_status strobe_session_copy_make(const struct strobe_session *from, uint64_t since_ticks,
                                            const struct strobe_session_copy *copy, void *memory);

/* Does both, with memory that it maps: at the begin of *memory is the copy, *bytes long. The caller unmaps it. A copy
 * that lacks space is made again with more, a few times. On failure nothing is mapped. STROBE_FULL: the copy would be
 * longer than `most`. STROBE_NO_MEMORY. */
enum strobe_status strobe_session_copy_map(const struct strobe_session *from, uint64_t since_ticks, uint64_t most,
                                           void **memory, size_t *bytes);

/* Returns the tick from which the records of the last `last_ns` are wanted; 0 = all of them. `now`: in ticks of the
 * session. In a closed session, `last_ns` counts back from its end. */
uint64_t strobe_session_ticks_since(const struct strobe_session_header *h, uint64_t now, uint64_t last_ns);

#endif

/* Makes small sessions for tests through the store's interface, as a capture does: threads, stacks, records, and a
 * consistent accounting. Ticks are ns from 1 second on, which is also the boot time of tick 0: traces begin at
 * STROBE_BUILD_BEGIN_NS.
 *
 * A failed call of the store aborts the test. One builder at a time. */
#ifndef STROBE_UNIT_SUPPORT_SESSION_BUILDER_H
#define STROBE_UNIT_SUPPORT_SESSION_BUILDER_H

#include "engine/store/session.h"

#include <stddef.h>
#include <stdint.h>

#define STROBE_BUILD_BEGIN_NS 1000000000u /* ticks and boot time at which sessions begin */

struct strobe_build {
    char path[256];
    struct strobe_session session;
    struct strobe_ring_writer *writers; /* by thread index */
    struct strobe_stack_cursor cursor;
};

/* Returns a config for tests: 1 ms gate, no sampler, little memory, CPU time and allocations. */
struct strobe_config strobe_build_config(void);

/* Begins a session in a new file. Replaces an existing file. */
void strobe_build_begin(struct strobe_build *b, const char *path, const struct strobe_config *config);

/* Adds a thread, first seen at the begin of the session; the first one is the main thread. */
uint32_t strobe_build_thread(struct strobe_build *b, uint32_t tid, const char *name);

/* Interns a stack of `count` addresses, outermost first. */
uint32_t strobe_build_stack(struct strobe_build *b, const uint64_t *address, uint32_t count);

/* Adds an image that holds the addresses [start, end). */
void strobe_build_image(struct strobe_build *b, const char *path, uint64_t start, uint64_t end);

/* Writes a record to the ring and counts it. record.ticks counts from the begin of the session. kind 0 becomes ALLOC,
 * count 0 becomes 1. Returns STROBE_FULL, counted as a drop, when the ring refuses the record. */
enum strobe_status strobe_build_record(struct strobe_build *b, struct strobe_record record,
                                       const struct strobe_metrics *metrics);

/* Ends the session in order, `ticks` after its begin, and closes the file. */
void strobe_build_end(struct strobe_build *b, uint64_t ticks);

/* Leaves the session as a killed process does, and closes the file. */
void strobe_build_kill(struct strobe_build *b);

#endif

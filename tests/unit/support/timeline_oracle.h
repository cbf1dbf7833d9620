/* An oracle of timelines. For each ns it computes from all records of a session what the rules of timeline.h show, and
 * then cuts the result into slices. No two events have the same ns; test_timeline.c tests that case. Tests only. */
#ifndef STROBE_UNIT_SUPPORT_TIMELINE_ORACLE_H
#define STROBE_UNIT_SUPPORT_TIMELINE_ORACLE_H

#include <stdint.h>

/* The source of the session: each call of `below` returns a number below `limit`. */
struct timeline_oracle_draw {
    uint32_t (*below)(void *ctx, uint32_t limit);
    void *ctx;
};

/* Makes a session of one thread in the file `path`, and compares its timeline with the oracle's. */
void timeline_oracle_check(const struct timeline_oracle_draw *draw, const char *path);

#endif

/* Reads a line of JSON value by value, as its reader expects it: what stands there must be what is asked for. The first
 * thing that is not sticks, told by column, and all later calls return false. For results; texts are allocated. */
#ifndef STROBE_SIM_SCORE_JSON_READ_H
#define STROBE_SIM_SCORE_JSON_READ_H

#include "engine/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_json {
    const char *line, *p;
    struct strobe_error *error;
    bool failed, no_memory;
};

/* Always false, for `return`. Expected: what should stand at `at`. */
bool sim_json_fail(struct sim_json *j, const char *at, const char *expected);

/* `c` follows, after blanks; it is passed over. */
bool sim_json_expect(struct sim_json *j, char c);
bool sim_json_accept(struct sim_json *j, char c); /* false without failing when it does not */
bool sim_json_end(struct sim_json *j);            /* nothing follows */

/* A string, freed by the caller. `*out` is NULL on failure. */
bool sim_json_text(struct sim_json *j, char **out);

bool sim_json_uint(struct sim_json *j, uint64_t *out);
bool sim_json_real(struct sim_json *j, double *out);

/* An object: `member` is called at each value, and reads it. An array: `item`. */
bool sim_json_object(struct sim_json *j, bool (*member)(struct sim_json *j, const char *key, void *ctx), void *ctx);
bool sim_json_array(struct sim_json *j, bool (*item)(struct sim_json *j, void *ctx), void *ctx);

#endif

/* Reads a line of JSON value by value. The caller asks for the values that it expects, in order. The first mismatch is
 * reported with its column; after it, all calls return false. For results. Texts are allocated. */
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

/* Reports an error: `expected` names what should stand at `at`. Always returns false, for use in `return`. */
bool sim_json_fail(struct sim_json *j, const char *at, const char *expected);

/* Skips blanks and then `c`; fails when another character follows. */
bool sim_json_expect(struct sim_json *j, char c);
bool sim_json_accept(struct sim_json *j, char c); /* returns false without failing when `c` does not follow */
bool sim_json_end(struct sim_json *j);            /* fails unless nothing follows */

/* Reads a string, which the caller frees. `*out` is NULL on failure. */
bool sim_json_text(struct sim_json *j, char **out);

bool sim_json_uint(struct sim_json *j, uint64_t *out);
bool sim_json_real(struct sim_json *j, double *out);

/* Read an object or an array. `member` or `item` is called at each value and must read it. */
bool sim_json_object(struct sim_json *j, bool (*member)(struct sim_json *j, const char *key, void *ctx), void *ctx);
bool sim_json_array(struct sim_json *j, bool (*item)(struct sim_json *j, void *ctx), void *ctx);

#endif

/* Values that come with options. */
#ifndef STROBE_SIM_CMD_ARGUMENTS_H
#define STROBE_SIM_CMD_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

/* Each returns false when `text` is something else, and leaves *out as it was. */

/* A whole number of decimal digits from 0 to `max`. */
bool strobe_parse_number(const char *text, uint64_t max, uint64_t *out);

/* A number with ns, us, ms or s behind it, or 0. */
bool strobe_parse_time(const char *text, uint64_t *ns);

/* A number from `low` to `high`, which may have k or M behind it for 1024 and 1024 * 1024. */
bool strobe_parse_count(const char *text, uint32_t low, uint32_t high, uint32_t *out);

#endif

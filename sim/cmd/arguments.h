/* Values that come with options. */
#ifndef STROBE_SIM_CMD_ARGUMENTS_H
#define STROBE_SIM_CMD_ARGUMENTS_H

#include <stdint.h>

/* A whole number of decimal digits from 0 to `max`. Returns 0 when `text` is something else. */
int strobe_parse_number(const char *text, uint64_t max, uint64_t *out);

#endif

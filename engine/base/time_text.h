/* Times as text: a decimal number with the unit ns, us, ms or s, such as 250us. Any context. */
#ifndef STROBE_BASE_TIME_TEXT_H
#define STROBE_BASE_TIME_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the decimal number at the begin of the text. Returns the number of its digits; 0: there is no number, or it
 * does not fit. */
size_t strobe_read_decimal(const char *text, size_t bytes, uint64_t *out);

/* Reads a text that is one time, in ns. Returns false when it is not, or does not fit. */
bool strobe_read_time(const char *text, size_t bytes, uint64_t *ns);

#endif

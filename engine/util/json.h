/* Writes JSON (RFC 8259) to a stream. The writer puts commas and indentation between nested values. It writes U+FFFD
 * for each byte that is not valid UTF-8. Errors are the stream's: the caller asks ferror when all is written. Allocates
 * nothing. For the reading half and the lab, never the capture half. */
#ifndef STROBE_UTIL_JSON_H
#define STROBE_UTIL_JSON_H

#include <stdint.h>
#include <stdio.h>

/* All fields are zero at first use, except `out` and `one_line`. Within an object each call takes the key of its value.
 * Within an array, and for the outermost value, the key is NULL. */
struct strobe_json {
    FILE *out;
    int one_line; /* no line breaks, no indentation */
    unsigned depth;
    int started; /* the innermost open value has an element already */
};

void strobe_json_object(struct strobe_json *j, const char *key);
void strobe_json_object_end(struct strobe_json *j);
void strobe_json_array(struct strobe_json *j, const char *key);
void strobe_json_array_end(struct strobe_json *j);

void strobe_json_text(struct strobe_json *j, const char *key, const char *text); /* NULL gives null */
void strobe_json_uint(struct strobe_json *j, const char *key, uint64_t value);
void strobe_json_int(struct strobe_json *j, const char *key, int64_t value);
void strobe_json_real(struct strobe_json *j, const char *key, double value); /* not finite gives null */
void strobe_json_bool(struct strobe_json *j, const char *key, int value);

#endif

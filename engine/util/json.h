/* Writes JSON (RFC 8259) to a stream, nested values with commas and indentation in place. What is not valid UTF-8 is
 * replaced by U+FFFD, so the output always is. Errors are the stream's: look at ferror when done. Reading half. */
#ifndef STROBE_UTIL_JSON_H
#define STROBE_UTIL_JSON_H

#include <stdint.h>
#include <stdio.h>

/* Zero but for `out` at first use, and `one_line` where line breaks are not wanted. Within an object every call takes
 * the key of its value; within an array, and for the outermost value, the key is NULL. */
struct strobe_json {
    FILE *out;
    int one_line;
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

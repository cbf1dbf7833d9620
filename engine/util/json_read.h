/* Reads JSON (RFC 8259) from memory, value by value, without a tree. A reader is a place in the text; a copy of it is
 * another place, so that several arrays can be read side by side.
 *
 *     strobe_json_enter(&j, '{');
 *     while (strobe_json_key(&j, &key))
 *         if (strobe_json_is(key, "pid"))
 *             strobe_json_take_number(&j, &pid);
 *         else
 *             strobe_json_skip(&j);
 *
 * Each value must be taken, entered or skipped exactly once. After a fault, or a value of another type than the one
 * that is taken, `bad` is set, `at` stays at the place, and all functions return false. Skipping checks only what it
 * needs to find the end of the value. Allocates nothing. For the reading half and the lab, never the capture half. */
#ifndef STROBE_UTIL_JSON_READ_H
#define STROBE_UTIL_JSON_READ_H

#include "engine/util/cursor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strobe_json_in {
    const char *at, *end;
    bool bad;
    bool first; /* the next element is the first of its object or array */
};

struct strobe_json_in strobe_json_in(const char *text, size_t bytes);

/* Returns the first character of the next value, without taking it: one of { [ " - 0..9 t f n; 0 at the end. */
char strobe_json_peek(struct strobe_json_in *j);

/* Enters an object ('{') or an array ('['). */
bool strobe_json_enter(struct strobe_json_in *j, char what);

/* Takes the next key of the object, still escaped. False at the end of the object, which is then left. */
bool strobe_json_key(struct strobe_json_in *j, struct strobe_cursor *key);

/* Moves to the next item of the array. False at the end of the array, which is then left. */
bool strobe_json_item(struct strobe_json_in *j);

/* Take a value. A text is still escaped. strobe_json_take_null does nothing to another value. */
bool strobe_json_take_number(struct strobe_json_in *j, double *out);
bool strobe_json_take_text(struct strobe_json_in *j, struct strobe_cursor *out);
bool strobe_json_take_null(struct strobe_json_in *j);
bool strobe_json_skip(struct strobe_json_in *j);

/* Returns true when the text, still escaped, is `word`. */
bool strobe_json_is(struct strobe_cursor text, const char *word);

/* Writes the text without escapes, at most `bytes` bytes, without a NUL. Returns the bytes written. Characters beyond
 * U+FFFF stay two escapes of three bytes each, and a malformed escape stays as it is. */
size_t strobe_json_unescape(struct strobe_cursor text, char *out, size_t bytes);

#endif

/* Sets, joins and copies the text of an error, struct strobe_error of the public API: one line for a person, beside the
 * status code for the program.
 *
 * A function that can fail for a reason worth a sentence takes a `struct strobe_error *` as its last parameter, and
 * sets the text before it returns a failure. The text names the file, the place and what was expected; it has no line
 * end. The text means nothing after a success. The caller owns the object, usually on its stack, and clears it before
 * the call when it wants to know whether the function set a text. NULL is allowed: the caller does not want the text.
 *
 * The functions here use no other function than those of string.h, so a backend that may not use stdio can set texts
 * (the Mach backend). error_format.h sets texts as printf does. Any thread. */
#ifndef STROBE_BASE_ERROR_H
#define STROBE_BASE_ERROR_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool strobe_error_is_set(const struct strobe_error *error)
{
    return error && error->text[0];
}

static inline void strobe_error_clear(struct strobe_error *error)
{
    if (error)
        error->text[0] = '\0';
}

/* Sets the text to "a: b", or to the one that is not empty. */
static inline void strobe_error_join(struct strobe_error *error, const char *a, const char *b)
{
    const char *const parts[] = {a, *a && *b ? ": " : "", b};
    size_t at = 0;
    if (!error)
        return;
    for (int i = 0; i < 3; i++)
        for (const char *p = parts[i]; *p && at + 1 < sizeof error->text; p++)
            error->text[at++] = *p;
    error->text[at] = '\0';
}

/* Copies the text, cut to fit. */
static inline void strobe_error_copy(const struct strobe_error *error, char *out, size_t bytes)
{
    size_t n = strlen(error->text);
    n = n < bytes ? n : bytes - 1;
    memcpy(out, error->text, n);
    out[n] = '\0';
}

#endif

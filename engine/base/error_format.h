/* Sets the text of an error as printf does; see error.h. The functions are inline, so that a library which includes
 * only error.h imports nothing of stdio. Any thread, not in a signal handler. */
#ifndef STROBE_BASE_ERROR_FORMAT_H
#define STROBE_BASE_ERROR_FORMAT_H

#include "engine/base/error.h"

#include <stdarg.h>
#include <stdio.h>

/* Adds to the end of the text, as vprintf does. */
__attribute__((format(printf, 2, 0))) static inline void strobe_error_add_list(struct strobe_error *error,
                                                                               const char *format, va_list args)
{
    if (!error)
        return;
    size_t at = strlen(error->text);
    vsnprintf(error->text + at, sizeof error->text - at, format, args);
}

/* Adds to the end of the text, as printf does. */
__attribute__((format(printf, 2, 3))) static inline void strobe_error_add(struct strobe_error *error,
                                                                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    strobe_error_add_list(error, format, args);
    va_end(args);
}

/* Sets the text, as printf does. No argument may point into the text. */
__attribute__((format(printf, 2, 3))) static inline void strobe_error_set(struct strobe_error *error,
                                                                          const char *format, ...)
{
    va_list args;
    strobe_error_clear(error);
    va_start(args, format);
    strobe_error_add_list(error, format, args);
    va_end(args);
}

#endif

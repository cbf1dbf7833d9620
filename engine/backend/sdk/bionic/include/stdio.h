/* Functions that write text to memory. The capture half prints nothing. See sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_STDIO_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_STDIO_H

#include <stdarg.h>
#include <stddef.h>

int rename(const char *from, const char *to);
int snprintf(char *out, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char *out, size_t bytes, const char *format, va_list arguments);

#endif

/* Paths in the directory for temporary files: $TMPDIR, or /tmp when it is not set. For tests and benchmarks. */
#ifndef STROBE_SUPPORT_TEMPORARY_H
#define STROBE_SUPPORT_TEMPORARY_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEMPORARY_BYTES = 200 };

/* Writes the path of a file in that directory, whose name is `format`, and returns it. Aborts when it is too long. */
__attribute__((format(printf, 2, 3))) static inline char *temporary_path(char path[TEMPORARY_BYTES], const char *format,
                                                                         ...)
{
    const char *directory = getenv("TMPDIR");
    size_t used = (size_t)snprintf(path, TEMPORARY_BYTES, "%s/", directory && *directory ? directory : "/tmp");
    va_list args;
    va_start(args, format);
    int bytes = used < TEMPORARY_BYTES ? vsnprintf(path + used, TEMPORARY_BYTES - used, format, args) : -1;
    va_end(args);
    if (bytes < 0 || used + (size_t)bytes >= TEMPORARY_BYTES) {
        fprintf(stderr, "TMPDIR is too long: %s\n", directory ? directory : "");
        abort();
    }
    return path;
}

#endif

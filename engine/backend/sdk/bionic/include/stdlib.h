/* What the capture half uses of Android's <stdlib.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_STDLIB_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_STDLIB_H

#include <stddef.h>

_Noreturn void abort(void);
char *getenv(const char *name);
long strtol(const char *text, char **end, int base);
unsigned long long strtoull(const char *text, char **end, int base);
int atoi(const char *text);
void *malloc(size_t bytes);
void free(void *memory);

#endif

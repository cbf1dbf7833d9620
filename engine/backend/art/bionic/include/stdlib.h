#ifndef STROBE_BIONIC_STDLIB_H
#define STROBE_BIONIC_STDLIB_H

#include <stddef.h>

_Noreturn void abort(void);
char *getenv(const char *name);
long strtol(const char *text, char **end, int base);
int atoi(const char *text);
void *malloc(size_t bytes);
void free(void *memory);

#endif

/* A folder of its own for tests that write files and have programs built. Tests only. */
#ifndef STROBE_UNIT_SUPPORT_WORKSHOP_H
#define STROBE_UNIT_SUPPORT_WORKSHOP_H

#include <stddef.h>
#include <sys/types.h>

/* Group set-up and tear-down for CMocka: makes the folder, and removes it with all that is in it. */
int strobe_workshop_open(void **state);
int strobe_workshop_close(void **state);

/* Path of `name` in the folder. Good until eight more calls. */
const char *strobe_workshop_path(const char *name);

/* Writes a file and returns its path. Fails the test when it can't. */
const char *strobe_workshop_write(const char *name, const void *content, size_t bytes, mode_t mode);

/* Reads a file of the folder whole, NUL-terminated; the caller's to free. */
char *strobe_workshop_read(const char *name, size_t *bytes);

/* Runs a shell command in the folder; $CC stands for the compiler. Skips the test, and says so, when it fails:
 * meant for tools that need not be there. */
void strobe_workshop_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The seed of a random test: $SEED, or a new one; printed with the command that repeats the test. */
unsigned strobe_workshop_seed(const char *test_program);

#endif

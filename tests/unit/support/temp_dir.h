/* A temporary directory for tests that write files or build programs. Tests only. */
#ifndef STROBE_UNIT_SUPPORT_TEMP_DIR_H
#define STROBE_UNIT_SUPPORT_TEMP_DIR_H

#include <stddef.h>
#include <sys/types.h>

/* Group set-up and tear-down for CMocka: makes the directory, and removes it with all that is in it. */
int temp_dir_open(void **state);
int temp_dir_close(void **state);

/* Path of `name` in the directory. Valid until eight more calls. */
const char *temp_dir_path(const char *name);

/* Writes a file and returns its path. A failure fails the test. */
const char *temp_dir_write(const char *name, const void *content, size_t bytes, mode_t mode);

/* Reads a whole file of the directory, NUL-terminated. The caller frees it. */
char *temp_dir_read(const char *name, size_t *bytes);

/* Runs a shell command in the directory; $CC stands for the compiler. The test fails, with the command's output, when
 * the command does. */
void temp_dir_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The seed of a random test: $SEED, or a new one; printed with the command that repeats the test. */
unsigned strobe_trial_seed(const char *test_program);

#endif

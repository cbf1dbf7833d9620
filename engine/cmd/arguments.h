/* Parsing of option values and of file names. */
#ifndef STROBE_CMD_ARGUMENTS_H
#define STROBE_CMD_ARGUMENTS_H

#include "engine/trace/export/convert.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Each function returns false for any other text, and then leaves *out unchanged. */

/* Parses a whole number of decimal digits, 0 .. `max`. */
bool strobe_parse_number(const char *text, uint64_t max, uint64_t *out);

/* Parses a number followed by ns, us, ms or s, or 0 alone. */
bool strobe_parse_time(const char *text, uint64_t *ns);

/* Parses a number, `low` .. `high`, which may be followed by k or M (1024, 1024 * 1024). */
bool strobe_parse_count(const char *text, uint32_t low, uint32_t high, uint32_t *out);

/* Finds the format that a trace's file name states. Returns the length of the ending that states it. Returns 0, with
 * *format perfetto, when no ending does. */
size_t strobe_trace_ending(const char *path, enum strobe_format *format);

/* Chooses the format of an output by its file name: *format is the one that the name states, and perfetto for a name
 * without an ending. Returns 0. For an ending of no format it prints a complaint and returns STROBE_EXIT_BAD. The
 * complaint lists the endings; `others`, further endings that the caller accepts ("" or a text that begins with a
 * comma); and `advice`. */
int strobe_choose_by_ending(const char *path, const char *others, const char *advice, enum strobe_format *format);

/* Prints a word, quoted as a shell needs it. */
void strobe_print_word(FILE *out, const char *word);

#endif

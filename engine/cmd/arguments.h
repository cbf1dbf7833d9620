/* Values that come with options, and what file names say. */
#ifndef STROBE_CMD_ARGUMENTS_H
#define STROBE_CMD_ARGUMENTS_H

#include "engine/trace/export/convert.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Each returns false when `text` is something else, and leaves *out as it was. */

/* A whole number of decimal digits from 0 to `max`. */
bool strobe_parse_number(const char *text, uint64_t max, uint64_t *out);

/* A number with ns, us, ms or s behind it, or 0. */
bool strobe_parse_time(const char *text, uint64_t *ns);

/* A number from `low` to `high`, which may have k or M behind it for 1024 and 1024 * 1024. */
bool strobe_parse_count(const char *text, uint32_t low, uint32_t high, uint32_t *out);

/* What a trace's file name says: the format in *format (perfetto when it says nothing), and how long the ending is that
 * says so (0 when there is none). */
size_t strobe_trace_ending(const char *path, enum strobe_format *format);

/* The same for an output of that name: in *format what it says, perfetto for a name without an ending. Returns 0; for
 * an ending that no format has it complains and returns STROBE_EXIT_BAD. The complaint lists the endings, then
 * `others`, which the caller takes beside these ("" or a text that begins with a comma), and `advice`. */
int strobe_choose_by_ending(const char *path, const char *others, const char *advice, enum strobe_format *format);

/* Prints a word as a shell would have to be given it. */
void strobe_print_word(FILE *out, const char *word);

#endif

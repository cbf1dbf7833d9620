/* What a shrinker renamed, and back: mapping files of ProGuard and R8.
 *
 *     com.example.Cache -> a.b:                                  a class: its name, and what it was made into
 *         int size -> a                                          a field; not looked at
 *         java.lang.String get(int,com.example.Key) -> c         a method
 *         1:5:void run():10:14 -> d                              of lines 1 to 5; was lines 10 to 14
 *         1:1:void Other.inlined():7:7 -> e                      inlined into what the last of
 *         1:1:void caller():12 -> e                              its lines' entries says: `caller`
 *     # comment, or R8's notes as JSON
 *
 * Format: ProGuard manual, "ReTrace"; R8 "retrace" documentation. A stack of method addresses knows no lines, so what
 * was inlined is not seen: a renamed method is what stands last among the entries of the same lines. Where a class has
 * several methods of one new name, parameters tell them apart; where they do not, all are named.
 *
 * The text is kept as it is; classes are sorted by their new names, members looked at when their class is asked for.
 * Reading half: allocates. */
#ifndef STROBE_TRACE_SYMBOLS_MAPPING_H
#define STROBE_TRACE_SYMBOLS_MAPPING_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stddef.h>

struct strobe_mapping;

/* Reads a file. STROBE_IO, or STROBE_BAD_INPUT with `FILE:LINE: expected ...` in `error`; *out is NULL then. */
enum strobe_status strobe_mapping_read(const char *path, struct strobe_mapping **out, struct strobe_error *error);

/* The same for text in memory, which is copied; `path` is what errors call it. */
enum strobe_status strobe_mapping_parse(const char *text, size_t bytes, const char *path, struct strobe_mapping **out,
                                        struct strobe_error *error);

/* A method as the runtime prints it, "java.lang.String a.b.c(int, a.d)", with its names as they were:
 * "java.lang.String com.example.Cache.get(int, com.example.Key)". What the mapping does not know stays as it is.
 * Allocated with malloc; NULL: out of memory. */
char *strobe_mapping_method(const struct strobe_mapping *m, const char *method);

void strobe_mapping_free(struct strobe_mapping *m);

#endif

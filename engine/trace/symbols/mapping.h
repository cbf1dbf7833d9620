/* Restores the names of methods that a shrinker renamed, from mapping files of ProGuard and R8.
 *
 *     com.example.Cache -> a.b:                                  a class: its original name and its new name
 *         int size -> a                                          a field; ignored
 *         java.lang.String get(int,com.example.Key) -> c         a method
 *         1:5:void run():10:14 -> d                              its lines 1 to 5 were lines 10 to 14
 *         1:1:void Other.inlined():7:7 -> e                      inlined into the method of the last
 *         1:1:void caller():12 -> e                              entry of the same lines: `caller`
 *     # comment, or R8's notes as JSON
 *
 * Format: ProGuard manual, "ReTrace"; R8 "retrace" documentation. A stack of method addresses has no lines, so inlined
 * methods are not shown: the original of a renamed method is the last of the entries with the same lines. If several
 * methods of a class have the same new name, the parameters distinguish them. If they do not, all are named.
 *
 * The text is kept unchanged. Classes are sorted by their new names. The members of a class are parsed when it is
 * looked up. Reading half: allocates. */
#ifndef STROBE_TRACE_SYMBOLS_MAPPING_H
#define STROBE_TRACE_SYMBOLS_MAPPING_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stddef.h>

struct strobe_mapping;

/* Reads a file. STROBE_IO, or STROBE_BAD_INPUT with `FILE:LINE: expected ...` in `error`; *out is NULL then. */
enum strobe_status strobe_mapping_read(const char *path, struct strobe_mapping **out, struct strobe_error *error);

/* Parses text in memory, which is copied. `path` is its name in errors. */
enum strobe_status strobe_mapping_parse(const char *text, size_t bytes, const char *path, struct strobe_mapping **out,
                                        struct strobe_error *error);

/* Takes a method as the runtime prints it, "java.lang.String a.b.c(int, a.d)", and returns it with its original names,
 * "java.lang.String com.example.Cache.get(int, com.example.Key)". Names that the mapping does not contain stay.
 * Allocated with malloc; NULL: out of memory. */
char *strobe_mapping_method(const struct strobe_mapping *m, const char *method);

void strobe_mapping_free(struct strobe_mapping *m);

#endif

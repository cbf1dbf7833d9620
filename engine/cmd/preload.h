/* Where the files are that come with this program, and how the dynamic linker is told to load the engine's library into
 * another program. */
#ifndef STROBE_CMD_PRELOAD_H
#define STROBE_CMD_PRELOAD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { STROBE_PRELOAD_BYTES = PATH_MAX + 64 };

/* Finds a library or a program by its file's name: beside this program, in ../lib/strobe or in ../libexec/strobe. */
bool strobe_library_find(const char *name, char *out, size_t out_bytes);

/* The dynamic linker splits LD_PRELOAD at blanks and colons, with no way to quote them: a path that has any is reached
 * through a link of a plain name, which is in place from give to drop. */
struct strobe_plain_name {
    char folder[32], link[64];
};

/* Changes `library` to the plain name where that is needed. False, with errno: there is no way to make one; drop it all
 * the same. */
bool strobe_preload_give_name(struct strobe_plain_name *p, char *library, size_t library_bytes);
void strobe_preload_drop_name(const struct strobe_plain_name *p);

/* Sets the environment for a program to be recorded into the session, with the library first among those that are
 * preloaded anyway. `only`: programs that are followed; "" or NULL = all. For a process that is about to become that
 * program. */
bool strobe_preload_set(const char *library, const char *session, const char *only);

#endif

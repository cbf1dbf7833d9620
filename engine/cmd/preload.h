/* Finds the files that are installed with this program, and sets up the dynamic linker to load the engine's library
 * into another program. */
#ifndef STROBE_CMD_PRELOAD_H
#define STROBE_CMD_PRELOAD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { STROBE_PRELOAD_BYTES = PATH_MAX + 64 };

/* Finds a library or a program by its file name: in the directory of this program, in ../lib/strobe or in
 * ../libexec/strobe. */
bool strobe_library_find(const char *name, char *out, size_t out_bytes);

/* The dynamic linker splits LD_PRELOAD at blanks and colons, and has no quoting. A path that contains one is reached
 * through a symbolic link with a plain name, which exists from give to drop. */
enum { STROBE_PLAIN_BYTES = 512 };
struct strobe_plain_name {
    char folder[STROBE_PLAIN_BYTES], link[STROBE_PLAIN_BYTES + 32];
};

/* The directory of such links: $TMPDIR, or /tmp when it is not set, contains a blank or a colon, or is too long. */
const char *strobe_plain_folder(void);

/* Changes `library` to the plain name when it needs one. Returns false, with errno, when no link can be made; the
 * caller calls drop in any case. */
bool strobe_preload_give_name(struct strobe_plain_name *p, char *library, size_t library_bytes);
void strobe_preload_drop_name(const struct strobe_plain_name *p);

/* Sets the environment of a program that will be recorded into the session. The library comes first in LD_PRELOAD.
 * `only`: programs to follow; "" or NULL = all. `control`: name of a control server; "" or NULL = none. Call it in the
 * process that will execute the program. */
bool strobe_preload_set(const char *library, const char *session, const char *only, const char *control);

#endif

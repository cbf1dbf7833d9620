#include "engine/trace/symbols/demangle.h"

#include <libiberty/demangle.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Mangled names can grow exponentially, because they can refer back to themselves. Texts above this size are not
 * useful. */
enum { NAME_BYTES_MAX = 8192 };

char *strobe_demangle(const char *name)
{
    /* C names may look like other manglings, so only the two reserved prefixes are tried. */
    if (strncmp(name, "_Z", 2) && strncmp(name, "_R", 2))
        return NULL;
    if (strlen(name) > NAME_BYTES_MAX)
        return NULL;
    char *readable = cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
    /* A C function may be named as a mangled name without any text is. */
    if (readable && !readable[0]) {
        free(readable);
        return NULL;
    }
    return readable;
}

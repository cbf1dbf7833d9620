/* Hooks by rebinding of symbol pointers.
 *
 * A call from one image to another goes through a pointer (__la_symbol_ptr, __got, __auth_got) that the loader has
 * bound. A hook replaces the pointer's value. These calls are not hooked:
 *
 *   - calls inside one image
 *   - calls between the system's own libraries, which the shared cache has bound directly
 *   - calls through addresses that the app took before the hook was installed
 *
 * Each image is rebound when it is loaded, in dyld's add callback. The loader holds its lock there, so this code
 * allocates nothing and calls no function of the loader. At the end each pointer that still holds a hook gets its old
 * value back.
 *
 * A pointer that other code has changed, earlier or later, stays as it is. Strobe's hooks call the genuine function, so
 * rebinding such a pointer would bypass that other code.
 *
 * Source: the layout of Mach-O's indirect symbol table (Apple's "OS X ABI Mach-O File Format Reference"). The idea is
 * that of fishhook; the code is original. The code trusts that the loader mapped the segments as the header describes
 * them. It checks every other offset and count against the segments. */
#ifndef STROBE_BACKEND_MACH_REBIND_H
#define STROBE_BACKEND_MACH_REBIND_H

#include "engine/base/status.h"

#include <mach-o/loader.h>
#include <stddef.h>
#include <stdint.h>

/* A symbol and the function to call in its place. */
struct strobe_rebinding {
    const char *symbol; /* the C name, without the leading underscore */
    void *hook;
    void *genuine; /* the function to which the loader binds the symbol; NULL: it does not exist and is not hooked */
};

/* A changed pointer. `read_only`: its page is writable only while this code changes it. */
struct strobe_rebound {
    void **at;
    void *was;
    uint32_t rebinding, read_only;
};

/* Rebinds the pointers of the image that is mapped at `header`. Appends each changed pointer to `log`, which has
 * `capacity` entries in all, and adds to *count.
 *
 *   STROBE_FULL          the log is too small for some pointers, which stay unchanged
 *   STROBE_UNSUPPORTED   some pointers cannot be written and stay unchanged
 *   STROBE_BAD_INPUT     the image's load commands or tables are invalid; no pointer was changed
 *
 * Pointers are written atomically, so other threads may call through them meanwhile. Any thread, one at a time. */
enum strobe_status strobe_rebind_image(const struct mach_header_64 *header, intptr_t slide,
                                       const struct strobe_rebinding *rebindings, size_t rebinding_count,
                                       struct strobe_rebound *log, size_t capacity, size_t *count);

/* Restores the old value of each pointer that still holds a hook, last one first. The caller must have removed from the
 * log the pointers of images that are no longer mapped. Returns the number of pointers that could not be written and
 * still hold a hook. Any thread, one at a time. */
size_t strobe_rebind_undo(const struct strobe_rebinding *rebindings, const struct strobe_rebound *log, size_t count);

#endif

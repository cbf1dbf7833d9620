/* Hooks by rebinding: calls of an image to another go through pointers (__la_symbol_ptr, __got, __auth_got) which the
 * loader has bound; a hook takes the pointer's place. Calls inside one image are not met, nor those among the system's
 * own libraries, which its shared cache has bound to one another for good, nor those by addresses that were taken
 * before.
 *
 * Every image is done when it comes (dyld's add callback, with the loader's lock held: nothing is allocated, no loader
 * call made), and undone when the hooks are taken out: each pointer that still holds ours gets back what it had. A
 * pointer that somebody else has changed, before or since, is left as it is: our hooks call the function itself, so
 * who hooked before us would be left out.
 *
 * Source: the layout of Mach-O's indirect symbol table (Apple's "OS X ABI Mach-O File Format Reference"); the idea is
 * that of fishhook, the code is ours. That the loader mapped what the header's segments say is taken for granted; every
 * other offset and count is checked against them. */
#ifndef STROBE_BACKEND_MACH_REBIND_H
#define STROBE_BACKEND_MACH_REBIND_H

#include "engine/base/status.h"

#include <mach-o/loader.h>
#include <stddef.h>
#include <stdint.h>

/* What is to be called in place of a symbol. */
struct strobe_rebinding {
    const char *symbol; /* as C has it, without the leading underscore */
    void *hook;
    void *genuine; /* the function itself, which pointers are bound to; NULL: it is not there, nor hooked */
};

/* A pointer that was changed. `read_only`: its page is not writable but while we change it. */
struct strobe_rebound {
    void **at;
    void *was;
    uint32_t rebinding, read_only;
};

/* Changes the pointers of one image that is mapped at `header`. Fills log[*count ...] of `room`. STROBE_FULL: no room
 * for some, STROBE_UNSUPPORTED: some can't be written; these were left alone. STROBE_BAD_INPUT: the header does not fit
 * together; nothing was changed. Any thread, one at a time; pointers are written atomically, callers may be under
 * way. */
enum strobe_status strobe_rebind_image(const struct mach_header_64 *header, intptr_t slide,
                                       const struct strobe_rebinding *rebindings, size_t rebinding_count,
                                       struct strobe_rebound *log, size_t room, size_t *count);

/* Gives back what was there, last first, of all pointers that still hold our hook, in images that are still mapped (the
 * caller has dropped those of others from the log). Returns how many could not be written, and lead to hooks yet. */
size_t strobe_rebind_undo(const struct strobe_rebinding *rebindings, const struct strobe_rebound *log, size_t count);

#endif

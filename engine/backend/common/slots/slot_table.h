/* Exchanges the slots (elf_slots.h) of a table of functions in all loaded libraries, and in those loaded later.
 *
 *   state of a slot                                  begin, renew       end
 *   ----------------------------------------------   ----------------   ------------------------------------
 *   the function itself                              -> replacement
 *   not bound yet (lazy binding)                     -> replacement
 *   another value: another hooker's, or another
 *   function of that name                            left alone         left alone
 *   the replacement                                  left alone         -> the function itself
 *
 * Nothing is remembered of a slot: the libraries' own relocations name the slots, and the slot's value says whether it
 * is exchanged. A library that goes away takes its slots along. A value that another hooker has stored over a
 * replacement stays; when that hooker later restores the replacement, the replacement still calls the function.
 *
 * Left alone as well are the library of this code, the library named at the begin, and all libraries that it needs
 * (DT_NEEDED, directly or not). The Android runtime calls these with its own locks held, and a hook there would walk
 * the thread's stack, for which the runtime may need the same locks. (The C library is one of them: its calls within
 * itself are not hooked.)
 *
 * Slots are exchanged under the loader's lock, in a callback of dl_iterate_phdr: no library can go away meanwhile, and
 * two calls of these functions exclude each other. A slot whose pages are read-only (RELRO) is writable only while it
 * is written. One word is exchanged by compare-and-swap; calls through it may run at any time.
 *
 * These functions take the loader's lock and open /proc/self/maps: never in the suspended window. The memory is static.
 */
#ifndef STROBE_BACKEND_COMMON_SLOTS_SLOT_TABLE_H
#define STROBE_BACKEND_COMMON_SLOTS_SLOT_TABLE_H

#include "engine/base/atomic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strobe_slot_function {
    const char *name;
    void *function; /* NULL: the process has no such function */
    void *replacement;
};

enum {
    STROBE_SLOT_INDEX = 512,      /* entries of the index by name; a power of two, at least twice the functions */
    STROBE_SLOT_LEFT_ALONE = 256, /* most libraries that the named library needs */
};

/* Zero at first. */
struct strobe_slot_table {
    bool calls_only; /* only slots of kind JUMP_SLOT; set by the caller before the begin */
    const struct strobe_slot_function *functions;
    uint16_t index[STROBE_SLOT_INDEX];           /* number of a function + 1; 0 = free */
    uint64_t left_alone[STROBE_SLOT_LEFT_ALONE]; /* hashes of sonames */
    uint32_t left_alone_count;
    strobe_a64 loaded; /* hash of the list of libraries at the last call */
    strobe_a32 unsettled;
    strobe_a32 on;
    strobe_a32 exchanged; /* slots that hold a replacement, at the last pass */
    strobe_a32 refused;   /* slots that could not be made writable, at the last pass */
};

/* Exchanges the slots of `count` functions. `functions` must outlive the table. `library`: the soname of the library
 * that is left alone with all that it needs. Start only. */
void strobe_slot_table_begin(struct strobe_slot_table *t, const struct strobe_slot_function *functions, uint32_t count,
                             const char *library);

/* Exchanges the slots of libraries that were loaded since the last call. Without any, the call only compares the list
 * of libraries. No effect before begin and after end. Any thread, between hooks; the sampler, between passes. */
void strobe_slot_table_renew(struct strobe_slot_table *t);

/* Restores all slots that hold a replacement. Calls of replacements may still be running or begin later. End only. */
void strobe_slot_table_end(struct strobe_slot_table *t);

#endif

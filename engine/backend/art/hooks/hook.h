/* Ways to be called when the runtime does something, behind one interface. Each hook is put in place once, and taken
 * out again: what was there before is there after (compared first: what somebody else has put there since is left
 * alone, and said so).
 *
 *   native    the native function of a Java method: the word of its ArtMethod that holds it, found in a method whose
 *             function is known, exchanged by compare-and-swap. Works everywhere, for methods that are native.
 *   slot      calls of one library into another: its slots of the global offset table (all relocations of kind
 *             JUMP_SLOT, GLOB_DAT or absolute that name the symbol, of the libraries loaded now), made writable,
 *             exchanged, protected as they were. Blind to calls within a library.
 *   inline    a function itself, by an inline hooker handed in at start: ShadowHook or its like on devices, the lab's
 *             detours (sim/genuine/detour.h) on the host. Without one these hooks are not to be had, and what needs
 *             them is off or falls back.
 *
 * Where the runtime has callbacks of its own (allocation listener, thread and monitor callbacks) they come first; see
 * events_*.c. Start and end only; thread-safe to be called through at any time. */
#ifndef STROBE_BACKEND_ART_HOOKS_HOOK_H
#define STROBE_BACKEND_ART_HOOKS_HOOK_H

#include "engine/backend/art/jni.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An inline hooker. install: makes `target` begin with a jump to `replacement`; *original then is a way to call what
 * was there. remove: takes that back; calls under way may still be inside of the original. Both 0 on success, else an
 * errno. Called at start and end only, one at a time. */
struct strobe_inline_hooker {
    const char *name; /* "shadowhook" */
    int (*install)(void *ctx, void *target, void *replacement, void **original, void **handle);
    int (*remove)(void *ctx, void *handle);
    void *ctx;
};

enum strobe_hook_way { STROBE_HOOK_NONE, STROBE_HOOK_NATIVE, STROBE_HOOK_SLOT, STROBE_HOOK_INLINE };

enum { STROBE_HOOK_SLOTS_MAX = 64 }; /* libraries that call one function, that can be exchanged */

struct strobe_hook {
    enum strobe_hook_way way; /* NONE: not in place */
    void *replacement, *original;
    void *where;  /* NATIVE: the word */
    void *handle; /* INLINE: the hooker's */
    const struct strobe_inline_hooker *hooker;
    uint32_t slot_count;
    struct strobe_hook_slot {
        void **at;
        void *before;
    } slot[STROBE_HOOK_SLOTS_MAX];
};

/* Where in an ArtMethod the native function stands: learnt from a native method whose function is `known`.
 * STROBE_NO_ENTRY: it stands nowhere in the first `bytes`, or in two places. `method` is an ArtMethod. */
enum strobe_status strobe_hook_native_offset(const void *method, size_t bytes, const void *known, uint32_t *offset);

/* Exchanges the native function of `method`, an ArtMethod. STROBE_NO_ENTRY: there is none (its stub is not bound yet,
 * NULL). STROBE_EXISTS: already hooked by this. (A method that was never called may hold the runtime's
 * own stub, which binds it and is no function to call as the original: have it bound first.) */
enum strobe_status strobe_hook_native(struct strobe_hook *h, void *method, uint32_t offset, void *replacement);

/* Exchanges the slots of `symbol` in all libraries loaded now, but this one; of several functions of that name, those
 * that most of them lead to. Libraries loaded later are not hooked until one looks again: the same call with a hook
 * that is in place adds theirs. STROBE_NO_ENTRY: nobody calls it. STROBE_FULL: more than STROBE_HOOK_SLOTS_MAX do;
 * nothing is changed. STROBE_IO: a slot can't be made writable (errno); nothing stays changed. STROBE_EXISTS: hooked by
 * this, in another way or with another replacement. */
enum strobe_status strobe_hook_slots(struct strobe_hook *h, const char *symbol, void *replacement);

/* Hooks a function inline. STROBE_UNSUPPORTED: no hooker, or it refused (errno). STROBE_EXISTS: already hooked by
 * this. */
enum strobe_status strobe_hook_inline(struct strobe_hook *h, const struct strobe_inline_hooker *hooker, void *target,
                                      void *replacement);

/* Takes a hook out. Harmless when none is in place. STROBE_EXISTS: somebody has hooked on top: all is left in place.
 * STROBE_IO: refused (errno); what is still in place can be taken out by another call. `original` stays to be called:
 * calls may be on their way there. */
enum strobe_status strobe_hook_remove(struct strobe_hook *h);

#endif

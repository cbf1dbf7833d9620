/* Kinds of hooks of the runtime, behind one interface. Each hook is installed once and removed once. Removal restores
 * what was there before. It compares first: a value that another program has stored since is left alone and reported.
 *
 *   native    the native function of a Java method: the word of its ArtMethod that holds it, found in a method whose
 *             function is known, exchanged by compare-and-swap. Works on all devices, for native methods.
 *   slot      calls from one library to another: the slots of the global offset tables (all relocations of kind
 *             JUMP_SLOT, GLOB_DAT or absolute that name the symbol, in all libraries loaded now). They are made
 *             writable, exchanged, and protected as before. Calls within a library are not seen.
 *   inline    the function itself, by an inline hooker (hooker.h): the app's own, ShadowHook, or the engine's detours
 *             (detour/detour.h). Without a hooker, features that need such hooks are off or use another hook.
 *
 * The runtime's own callbacks (allocation listener, thread and monitor callbacks) are preferred where they exist; see
 * events_*.c. Start and end only. Any thread may call a hooked function at any time. */
#ifndef STROBE_BACKEND_ART_HOOKS_HOOK_H
#define STROBE_BACKEND_ART_HOOKS_HOOK_H

#include "engine/backend/art/jni.h"
#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function that an inline hooker is to hook, or a hook that it is to remove. */
struct strobe_inline_request {
    void *target, *replacement; /* install: set by the caller */
    void **original;            /* install: where the hooker writes the original before the first call can arrive */
    void *handle;               /* install: set by the hooker; remove: by the caller */
    int refused;                /* set by the hooker: 0, or an errno */
};

/* An inline hooker. install: makes `target` begin with a jump to `replacement`; the caller calls *original to run what
 * was there. *original is set before the first call can arrive. remove: undoes this; calls that are under way may still
 * be inside the original. Both return 0 on success, else an errno. explain: a phrase for what install returned last, or
 * NULL; the function may be missing. install_all, remove_all: install and remove for many functions, for a hooker that
 * must stop the app's threads and does so once for all of them; both may be missing. A refused request leaves the
 * others unaffected; its errno alone explains it. The engine calls these functions at start and end only, one at a
 * time. */
struct strobe_inline_hooker {
    const char *name; /* "shadowhook" */
    int (*install)(void *ctx, void *target, void *replacement, void **original, void **handle);
    int (*remove)(void *ctx, void *handle);
    const char *(*explain)(void *ctx, int refused);
    void *ctx;
    void (*install_all)(void *ctx, struct strobe_inline_request *request, size_t count);
    void (*remove_all)(void *ctx, struct strobe_inline_request *request, size_t count);
};

enum strobe_hook_kind { STROBE_HOOK_NONE, STROBE_HOOK_NATIVE, STROBE_HOOK_SLOT, STROBE_HOOK_INLINE };

enum { STROBE_HOOK_SLOTS_MAX = 64 }; /* most slots of one function */

struct strobe_hook {
    enum strobe_hook_kind kind; /* NONE: not installed */
    void *replacement, *original;
    void *where;  /* NATIVE: the word; INLINE: the function */
    void *handle; /* INLINE: the hooker's handle */
    const struct strobe_inline_hooker *hooker;
    uint32_t slot_count;
    struct strobe_hook_slot {
        void **at;
        void *before;
    } slot[STROBE_HOOK_SLOTS_MAX];
};

/* Finds the offset of the native function in an ArtMethod. `method` is the ArtMethod of a native method with the
 * function `known`. STROBE_NO_ENTRY: the function is not in the first `bytes`, or is there twice. */
enum strobe_status strobe_hook_native_offset(const void *method, size_t bytes, const void *known, uint32_t *offset);

/* Exchanges the native function of `method`, an ArtMethod. STROBE_NO_ENTRY: it has none (NULL, the stub is not bound
 * yet). STROBE_EXISTS: this hook is installed already. (A method that was never called may hold the runtime's own stub.
 * The stub binds the method and cannot be called as the original, so the caller has the method bound first.) */
enum strobe_status strobe_hook_native(struct strobe_hook *h, void *method, uint32_t offset, void *replacement);

/* Exchanges the slots of `symbol` in all libraries loaded now, except this one. When there are several functions of
 * that name, the function is hooked to which most slots lead. Libraries that are loaded later are not hooked; the same
 * call for an installed hook adds theirs. STROBE_NO_ENTRY: no library calls the function. STROBE_FULL: more than
 * STROBE_HOOK_SLOTS_MAX slots; nothing is changed. STROBE_IO: a slot cannot be made writable (errno); nothing stays
 * changed. STROBE_EXISTS: this hook is installed as another kind or with another replacement. */
enum strobe_status strobe_hook_slots(struct strobe_hook *h, const char *symbol, void *replacement);

/* A function to be hooked inline, and what came of it. */
struct strobe_hook_request {
    struct strobe_hook *hook;
    void *target, *replacement;
    int refused;             /* set: 0 when the function is hooked, else an errno */
    struct strobe_error why; /* set when it is refused: the hooker's phrase */
};

enum { STROBE_HOOK_REQUESTS_MAX = 32 }; /* most requests of one call */

/* Hooks functions inline, all at once if the hooker can (install_all). A hook that is installed already stays, and is
 * refused with EEXIST unless it has this target and this replacement. */
void strobe_hook_inline_all(const struct strobe_inline_hooker *hooker, struct strobe_hook_request *r, size_t count);

/* Removes inline hooks, all at once if their hooker can. A hook whose removal is refused stays installed. */
void strobe_hook_remove_all(struct strobe_hook *const *hooks, size_t count);

/* Removes a hook. The function does nothing when the hook is not installed. STROBE_EXISTS: another program has hooked
 * the function later; nothing is removed. STROBE_IO: the system refused (errno); another call may remove what is left.
 * `original` may still be called afterwards, because calls may be on their way to it. */
enum strobe_status strobe_hook_remove(struct strobe_hook *h);

#endif

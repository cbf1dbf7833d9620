/* A stand-in for ShadowHook's library, for tests: its published functions, over the engine's detours. A test sets the
 * variable `stand_in` to make it refuse. -DSTAND_IN_OLD: as before version 2.0, without modes for each hook. */
#include "tests/support/shadowhook.h"
#include "engine/backend/art/detour/detour.h"

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum { ERROR_OOM = 4, ERROR_HOOK_DUP = 20, ERROR_REWRITE = 26, ERROR_UNINIT = 2, STUBS = 64 };

EXPORT struct stand_in_shadowhook stand_in = {.hooks_left = STUBS};

static struct stub {
    void *handle;
    int used; /* 0: ShadowHook has freed it */
} stub[STUBS];
static int error = ERROR_UNINIT, initialized;

EXPORT int shadowhook_init(int mode, bool debuggable);
EXPORT int shadowhook_init(int mode, bool debuggable)
{
    (void)debuggable;
    if (!initialized && !stand_in.init_refused)
        stand_in.mode = stand_in.app_mode_is_shared ? 0 : mode;
    initialized = 1;
    return stand_in.init_refused;
}

EXPORT int shadowhook_get_mode(void);
EXPORT int shadowhook_get_mode(void)
{
    return stand_in.mode;
}

static void *put_hook(void *function, void *replacement, void **original)
{
    for (struct stub *s = stub; s < stub + STUBS; s++) {
        if (s->used)
            continue;
        if (stand_in.hooks_left <= 0 || strobe_detours.install(NULL, function, replacement, original, &s->handle)) {
            error = ERROR_REWRITE;
            return NULL;
        }
        s->used = 1;
        stand_in.hooks_left--;
        stand_in.installed++;
        if (stand_in.gives_no_original)
            *original = NULL;
        return s;
    }
    error = ERROR_OOM;
    return NULL;
}

EXPORT void *shadowhook_hook_func_addr(void *function, void *replacement, void **original);
EXPORT void *shadowhook_hook_func_addr(void *function, void *replacement, void **original)
{
    stand_in.flags = 0;
    return put_hook(function, replacement, original);
}

#ifndef STAND_IN_OLD
EXPORT void *shadowhook_hook_func_addr_2(void *function, void *replacement, void **original, uint32_t flags, ...);
EXPORT void *shadowhook_hook_func_addr_2(void *function, void *replacement, void **original, uint32_t flags, ...)
{
    stand_in.flags = flags;
    return put_hook(function, replacement, original);
}
#endif

EXPORT int shadowhook_unhook(void *p);
EXPORT int shadowhook_unhook(void *p)
{
    struct stub *s = p;
    if (!s->used)
        __builtin_trap(); /* freed memory */
    s->used = 0;
    if (stand_in.unhook_refused) {
        error = stand_in.unhook_refused;
        return -1;
    }
    stand_in.installed--;
    return strobe_detours.remove(NULL, s->handle) == 0 ? 0 : -1;
}

EXPORT int shadowhook_get_errno(void);
EXPORT int shadowhook_get_errno(void)
{
    return error;
}

EXPORT const char *shadowhook_to_errmsg(int number);
EXPORT const char *shadowhook_to_errmsg(int number)
{
    return number == ERROR_REWRITE ? "rewrite failed" : number == ERROR_HOOK_DUP ? "dup" : "other";
}

/* An inline hooker that calls ShadowHook (github.com/bytedance/android-inline-hook), if the app has that library.
 *
 * The engine does not link against it. It calls the published functions by name: shadowhook_init, shadowhook_get_mode,
 * shadowhook_hook_func_addr (since 1.0.4), shadowhook_hook_func_addr_2 (since 2.0), shadowhook_unhook,
 * shadowhook_get_errno, shadowhook_to_errmsg. ShadowHook has three modes:
 *
 *   unique   a function has one replacement, which calls the original directly
 *   multi    several replacements, each of which calls the next one directly; since 2.0, for each hook
 *   shared   several replacements, each of which must call shadowhook_pop_stack when it begins
 *
 * The engine's replacements are of the first two forms. So a hook is made in multi mode where there is one, else in
 * unique mode. An older ShadowHook that the app has initialised in shared mode is refused.
 *
 * shadowhook_init does nothing when the app has called it before, and returns the first call's result. */
#ifndef STROBE_BACKEND_ART_HOOKS_SHADOWHOOK_H
#define STROBE_BACKEND_ART_HOOKS_SHADOWHOOK_H

#include "engine/backend/art/hooks/hook.h"
#include "engine/base/error.h"

#include <stdbool.h>

enum { STROBE_SHADOWHOOKS_MAX = 64 }; /* hooks at a time */

/* Returns the hooker, or NULL with one phrase in `error`. `loads`: load libshadowhook.so if the app has not; otherwise
 * an absent library is no error, and `error` is not set. Start only. */
const struct strobe_inline_hooker *strobe_shadowhook(bool loads, struct strobe_error *error);

#endif

/* Chooses the inline hooker of a capture. The first of these that can be used:
 *
 *   1  the app's own (strobe_art_options.hooker)
 *   2  ShadowHook, when the app has loaded it: two hookers of one process do not see each other's hooks
 *   3  the engine's own detours (arm64, x86-64)
 *
 * When there is none, features that need inline hooks are off or use another hook, and the status says why. */
#ifndef STROBE_BACKEND_ART_HOOKS_HOOKER_H
#define STROBE_BACKEND_ART_HOOKS_HOOKER_H

#include "engine/backend/art/hooks/hook.h"
#include "engine/base/error.h"

enum strobe_art_hooking {
    STROBE_ART_HOOKING_ANY,        /* the order above */
    STROBE_ART_HOOKING_SHADOWHOOK, /* ShadowHook alone, which is loaded if it has to be */
    STROBE_ART_HOOKING_DETOURS,    /* the engine's own alone */
    STROBE_ART_HOOKING_NONE,       /* no inline hooks: for an app in which they cause trouble */
};

/* Returns the hooker for `by`, or NULL with one phrase in `error`. Start only. */
const struct strobe_inline_hooker *strobe_hooker_choose(enum strobe_art_hooking by, struct strobe_error *error);

#endif

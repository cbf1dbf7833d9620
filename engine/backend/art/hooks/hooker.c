#include "engine/backend/art/hooks/hooker.h"

#include "engine/backend/art/detour/detour.h"
#include "engine/backend/art/hooks/shadowhook.h"
#include "engine/base/error_format.h"

static const struct strobe_inline_hooker *choose_detours(struct strobe_error *error)
{
    int refused = strobe_detours_refused();
    if (!refused)
        return &strobe_detours;
    const char *why = strobe_detours.explain(NULL, refused);
    if (why)
        strobe_error_set(error, "%s", why);
    else
        strobe_error_set(error, "no page can be made executable: error %d", refused);
    return NULL;
}

const struct strobe_inline_hooker *strobe_hooker_choose(enum strobe_art_hooking by, struct strobe_error *error)
{
    const struct strobe_inline_hooker *hooker = NULL;
    strobe_error_clear(error);
    if (by == STROBE_ART_HOOKING_NONE)
        strobe_error_set(error, "not asked for");
    if (by == STROBE_ART_HOOKING_ANY || by == STROBE_ART_HOOKING_SHADOWHOOK)
        hooker = strobe_shadowhook(by == STROBE_ART_HOOKING_SHADOWHOOK, error);
    if (!hooker && (by == STROBE_ART_HOOKING_ANY || by == STROBE_ART_HOOKING_DETOURS))
        hooker = choose_detours(error);
    return hooker;
}

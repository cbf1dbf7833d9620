#include "engine/backend/art/visitor.h"

#include <string.h>

/* The runtime's StackWalkKind: methods that were inlined into their callers count as frames of their own. */
enum { INCLUDE_INLINED = 0 };

/* Returns whether the method is a pseudo-method. ART's callee-save frames, where native code entered managed code, show
 * a method of the runtime that is in no dex file. */
static bool is_pseudo_frame(const struct strobe_libart *a, const void *method)
{
    uint32_t dex_method_index;
    memcpy(&dex_method_index, (const char *)method + a->level->method_dex_index, sizeof dex_method_index);
    return dex_method_index == UINT32_MAX;
}

enum { SHADOW_FRAME_WORD = 3, QUICK_FRAME_WORD = 4 }; /* of a StackVisitor */

static uint64_t place_of_frame(const struct strobe_art_walk *w)
{
    uintptr_t shadow, quick;
    memcpy(&shadow, (const char *)w + SHADOW_FRAME_WORD * sizeof shadow, sizeof shadow);
    memcpy(&quick, (const char *)w + QUICK_FRAME_WORD * sizeof quick, sizeof quick);
    return (shadow ? shadow : quick) & ~(uint64_t)STROBE_ART_PLACE_ENDS;
}

/* StackVisitor::VisitFrame(): returns whether the walk continues. Native frames of a fragment have no method. */
static bool visit_frame(struct strobe_art_walk *w)
{
    const struct strobe_libart *a = w->libart;
    if (w->visits++ == STROBE_ART_VISITS_MAX) {
        w->cut = true;
        return false;
    }
    const void *method = ((const void *(*)(const void *))(uintptr_t)a->address[STROBE_ART_VISITOR_METHOD])(w);
    if (!method && w->places_end && w->count)
        w->places_end[-(ptrdiff_t)w->count] |= STROBE_ART_PLACE_ENDS; /* a transition: the fragment ends */
    if (!method || is_pseudo_frame(a, method))
        return true;
    if (w->count == w->max) {
        w->cut = true;
        return false;
    }
    ptrdiff_t at = -1 - (ptrdiff_t)w->count++;
    w->frames_end[at] = (uint64_t)(uintptr_t)method;
    if (w->places_end)
        w->places_end[at] = place_of_frame(w);
    if (w->dex_pcs_end)
        w->dex_pcs_end[at] =
            ((uint32_t(*)(const void *, bool))(uintptr_t)a->address[STROBE_ART_VISITOR_DEX_PC])(w, false);
    return true;
}

/* The same for pointers only: reads no method, and treats pseudo-methods as frames. */
static bool visit_any_frame(struct strobe_art_walk *w)
{
    const struct strobe_libart *a = w->libart;
    const void *method = ((const void *(*)(const void *))(uintptr_t)a->address[STROBE_ART_VISITOR_METHOD])(w);
    if (w->visits++ == STROBE_ART_VISITS_MAX || (method && w->count == w->max)) {
        w->cut = true;
        return false;
    }
    if (method)
        w->frames_end[-1 - (ptrdiff_t)w->count++] = (uint64_t)(uintptr_t)method;
    return true;
}

static void destroy_walk(struct strobe_art_walk *w)
{
    (void)w;
}

/* Vtables as in the Itanium C++ ABI (2.5). Nothing here reads the entries before the address point. */
static void *const vtable[] = {NULL, NULL, (void *)(uintptr_t)destroy_walk, (void *)(uintptr_t)destroy_walk,
                               (void *)(uintptr_t)visit_frame};
static void *const vtable_any[] = {NULL, NULL, (void *)(uintptr_t)destroy_walk, (void *)(uintptr_t)destroy_walk,
                                   (void *)(uintptr_t)visit_any_frame};

static enum strobe_walk_end walk_with_vtable(void *const *table, struct strobe_art_walk *w,
                                             const struct strobe_libart *a, void *thread, uint64_t *frames_end,
                                             uint32_t *dex_pcs_end, uint32_t max, uint32_t *count)
{
    void (*init)(void *, void *, void *, uint32_t, bool) =
        (void (*)(void *, void *, void *, uint32_t, bool))(uintptr_t)a->address[STROBE_ART_VISITOR_INIT];
    void (*walk)(void *, bool) = (void (*)(void *, bool))(uintptr_t)a->address[STROBE_ART_VISITOR_WALK];
    w->libart = a;
    w->frames_end = frames_end;
    w->dex_pcs_end = dex_pcs_end;
    w->count = 0;
    w->max = max;
    w->visits = 0;
    w->cut = false;
    init(w, thread, NULL, INCLUDE_INLINED, false);
    w->vtable = table + 2;
    walk(w, w->places_end != NULL); /* with transitions, when places are asked for */
    *count = w->count;
    return w->cut ? STROBE_WALK_CUT : STROBE_WALK_ROOT;
}

enum strobe_walk_end strobe_art_walk(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread,
                                     uint64_t *frames_end, uint32_t *dex_pcs_end, uint32_t max, uint32_t *count)
{
    w->places_end = NULL;
    return walk_with_vtable(vtable, w, a, thread, frames_end, dex_pcs_end, max, count);
}

enum strobe_walk_end strobe_art_walk_places(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread,
                                            uint64_t *frames_end, uint64_t *places_end, uint32_t max, uint32_t *count)
{
    w->places_end = places_end;
    return walk_with_vtable(vtable, w, a, thread, frames_end, NULL, max, count);
}

enum strobe_walk_end strobe_art_walk_methods(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread,
                                             uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    w->places_end = NULL;
    return walk_with_vtable(vtable_any, w, a, thread, frames_end, NULL, max, count);
}

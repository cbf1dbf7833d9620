#include "engine/backend/art/visitor.h"

#include <string.h>

/* The runtime's StackWalkKind: small methods that were compiled into their callers count as frames of their own. */
enum { INCLUDE_INLINED = 0 };

/* ART's callee-save frames, which stand where native code entered managed code, show a method of the runtime's own that
 * has no place in any dex file. */
static bool is_pseudo(const struct strobe_libart *a, const void *method)
{
    uint32_t dex_method_index;
    memcpy(&dex_method_index, (const char *)method + a->level->method_dex_index, sizeof dex_method_index);
    return dex_method_index == UINT32_MAX;
}

/* StackVisitor::VisitFrame(): whether the walk goes on. Native frames of a fragment have no method. */
static bool visit_frame(struct strobe_art_walk *w)
{
    const struct strobe_libart *a = w->libart;
    if (w->visits++ == STROBE_ART_VISITS_MAX) {
        w->cut = true;
        return false;
    }
    const void *method = ((const void *(*)(const void *))(uintptr_t)a->address[STROBE_ART_VISITOR_METHOD])(w);
    if (!method || is_pseudo(a, method))
        return true;
    if (w->count == w->max) {
        w->cut = true;
        return false;
    }
    ptrdiff_t at = -1 - (ptrdiff_t)w->count++;
    w->frames_end[at] = (uint64_t)(uintptr_t)method;
    if (w->dex_pcs_end)
        w->dex_pcs_end[at] =
            ((uint32_t(*)(const void *, bool))(uintptr_t)a->address[STROBE_ART_VISITOR_DEX_PC])(w, false);
    return true;
}

/* The same for who wants nothing but pointers: none is followed, pseudo-methods are frames like others. */
static bool visit_any(struct strobe_art_walk *w)
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

static void destroy(struct strobe_art_walk *w)
{
    (void)w;
}

/* As the Itanium C++ ABI lays it out (2.5): what stands before the address point is asked for by nobody here. */
static void *const vtable[] = {NULL, NULL, (void *)(uintptr_t)destroy, (void *)(uintptr_t)destroy,
                               (void *)(uintptr_t)visit_frame};
static void *const vtable_any[] = {NULL, NULL, (void *)(uintptr_t)destroy, (void *)(uintptr_t)destroy,
                                   (void *)(uintptr_t)visit_any};

static enum strobe_walk_end walk_by(void *const *table, struct strobe_art_walk *w, const struct strobe_libart *a,
                                    void *thread, uint64_t *frames_end, uint32_t *dex_pcs_end, uint32_t max,
                                    uint32_t *count)
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
    walk(w, false);
    *count = w->count;
    return w->cut ? STROBE_WALK_CUT : STROBE_WALK_ROOT;
}

enum strobe_walk_end strobe_art_walk(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread,
                                     uint64_t *frames_end, uint32_t *dex_pcs_end, uint32_t max, uint32_t *count)
{
    return walk_by(vtable, w, a, thread, frames_end, dex_pcs_end, max, count);
}

enum strobe_walk_end strobe_art_walk_methods(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread,
                                             uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    return walk_by(vtable_any, w, a, thread, frames_end, NULL, max, count);
}

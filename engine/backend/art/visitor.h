/* Managed stacks: the runtime's own StackVisitor, built in a space of ours, with a vtable of ours.
 *
 *   space   +0     vptr -> { destructor, deleting destructor, VisitFrame }   ours, also during the walk
 *           +8...  the runtime's fields, set by its constructor; their size differs by level, 2 KiB hold all
 *           end    what VisitFrame keeps: where frames go
 *
 * Frames are addresses of ArtMethod, met leaf first. The runtime's pseudo-methods (callee-save frames) are left out.
 * When there are more than fit, the walk ends there and says that it is cut: the leaf side is kept, as strobe_walk_fp
 * does. Nothing is allocated: no Context is made, for a walk that asks for methods only needs none.
 *
 * A damaged stack can lead in a circle: after STROBE_ART_VISITS_MAX frames, of whatever kind, the walk is cut, too.
 *
 * The space is the caller's, and must not lie on the stack of a hook: hooks run while a StackOverflowError is built,
 * with 8 KiB left. strobe_art_walk itself takes less than 512 bytes of stack beside the runtime's. */
#ifndef STROBE_BACKEND_ART_VISITOR_H
#define STROBE_BACKEND_ART_VISITOR_H

#include "engine/backend/art/libart.h"
#include "engine/capture/walk_fp.h"

enum { STROBE_ART_VISITOR_BYTES = 2048, STROBE_ART_VISITS_MAX = 1 << 16 };

struct strobe_art_walk {
    void *const *vtable; /* where the runtime looks for it */
    unsigned char opaque[STROBE_ART_VISITOR_BYTES - sizeof(void *)];
    const struct strobe_libart *libart;
    uint64_t *frames_end;
    uint32_t *dex_pcs_end; /* NULL = not asked for */
    uint32_t count, max, visits;
    bool cut;
};

/* Walks `thread`, which is the calling thread, or suspended by the runtime. Frames go to frames_end[-1] (innermost),
 * frames_end[-2], ..., at most `max`; *count says how many, and so do dex_pcs_end[-1], ..., when that is not NULL.
 * STROBE_WALK_ROOT, or STROBE_WALK_CUT when there were more. Any (its own thread) or sampler, window. */
enum strobe_walk_end strobe_art_walk(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread,
                                     uint64_t *frames_end, uint32_t *dex_pcs_end, uint32_t max, uint32_t *count);

/* The same, but that pseudo-methods are left in: no memory of a method is read, so what is wrong with one is met later,
 * by who looks at it. */
enum strobe_walk_end strobe_art_walk_methods(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread,
                                             uint64_t *frames_end, uint32_t max, uint32_t *count);

#endif

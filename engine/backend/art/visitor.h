/* Walks managed stacks with the runtime's own StackVisitor, in the engine's memory and with the engine's vtable.
 *
 *   space   +0     vptr -> { destructor, deleting destructor, VisitFrame }   the engine's, also during the walk
 *           +8...  the runtime's fields, set by its constructor; their size differs by level, 2 KiB hold all
 *           end    the state of VisitFrame: where frames go
 *
 * Frames are addresses of ArtMethod, leaf first. The runtime's pseudo-methods (callee-save frames) are left out. When
 * there are more frames than fit, the walk ends and reports that it is cut; the leaf side is kept, as in
 * strobe_walk_fp. Nothing is allocated: a walk that needs methods only uses no Context.
 *
 * A damaged stack can have a cycle. The walk is therefore cut after STROBE_ART_VISITS_MAX frames of any kind.
 *
 * The caller owns the space. The space must not be on the stack of a hook, because hooks also run while a
 * StackOverflowError is built, with 8 KiB of stack left. strobe_art_walk itself uses less than 512 bytes of stack,
 * besides the runtime's. */
#ifndef STROBE_BACKEND_ART_VISITOR_H
#define STROBE_BACKEND_ART_VISITOR_H

#include "engine/backend/art/libart.h"
#include "engine/capture/walk_fp.h"

enum { STROBE_ART_VISITOR_BYTES = 2048, STROBE_ART_VISITS_MAX = 1 << 16 };

struct strobe_art_walk {
    void *const *vtable; /* the runtime finds it here */
    unsigned char opaque[STROBE_ART_VISITOR_BYTES - sizeof(void *)];
    const struct strobe_libart *libart;
    uint64_t *frames_end;
    uint32_t *dex_pcs_end; /* NULL = not asked for */
    uint32_t count, max, visits;
    bool cut;
};

/* Walks `thread`, which is the calling thread or is suspended by the runtime. Frames go to frames_end[-1] (innermost),
 * frames_end[-2], ..., at most `max`; *count is their number. dex_pcs_end[-1], ... are set, too, unless it is NULL.
 * Returns STROBE_WALK_ROOT, or STROBE_WALK_CUT when there were more frames. Any (its own thread) or sampler, window. */
enum strobe_walk_end strobe_art_walk(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread,
                                     uint64_t *frames_end, uint32_t *dex_pcs_end, uint32_t max, uint32_t *count);

/* The same, but pseudo-methods are included: the walk reads no memory of a method. A caller that reads a method must
 * expect it to be invalid. */
enum strobe_walk_end strobe_art_walk_methods(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread,
                                             uint64_t *frames_end, uint32_t max, uint32_t *count);

#endif

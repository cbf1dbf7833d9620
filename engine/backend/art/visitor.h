/* Walks managed stacks with the runtime's own StackVisitor, in the engine's memory and with the engine's vtable.
 *
 *   space   +0     vptr -> { destructor, deleting destructor, VisitFrame }   the engine's, also during the walk
 *           +8...  the runtime's fields, set by its constructor; their size differs by level, 2 KiB hold all
 *           end    the state of VisitFrame: where frames go
 *
 * The runtime's fields that the engine reads: the third and the fourth word after the vptr are the present shadow frame
 * and the present quick frame, as in stack.h of all levels from 24 to 36. They are the addresses of frames on the
 * stack.
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
#include "engine/store/stack_table.h"

enum { STROBE_ART_VISITOR_BYTES = 2048, STROBE_ART_VISITS_MAX = 1 << 16 };

/* The place of a managed frame: its address on the stack, and in the lowest bit, whether it is the outermost frame of
 * its fragment. Native code has called it then. */
#define STROBE_ART_PLACE_ENDS UINT64_C(1)

/* Frames that strobe_art_walk_whole (frames.h) has found, before they are merged. */
struct strobe_art_found {
    uint32_t managed_count, native_count;
    uint32_t native_kept; /* of native_count, without the C library's frames at the root */
    bool native_cut;
    /* managed: backwards from the end, as strobe_walk_fp stores frames */
    uint64_t method[STROBE_STACK_DEPTH_MAX], method_place[STROBE_STACK_DEPTH_MAX];
    /* native: forwards, innermost first */
    uint64_t pc[STROBE_STACK_DEPTH_MAX], pc_place[STROBE_STACK_DEPTH_MAX];
    /* of one walk by tables, backwards from the end */
    uint64_t table_pc[STROBE_STACK_DEPTH_MAX], table_place[STROBE_STACK_DEPTH_MAX];
};

struct strobe_art_walk {
    void *const *vtable; /* the runtime finds it here */
    unsigned char opaque[STROBE_ART_VISITOR_BYTES - sizeof(void *)];
    const struct strobe_libart *libart;
    uint64_t *frames_end;
    uint32_t *dex_pcs_end; /* NULL = not asked for */
    uint64_t *places_end;  /* the same */
    uint32_t count, max, visits;
    bool cut;
    struct strobe_art_found found;
};

/* Walks `thread`, which is the calling thread or is suspended by the runtime. Frames go to frames_end[-1] (innermost),
 * frames_end[-2], ..., at most `max`; *count is their number. dex_pcs_end[-1], ... are set, too, unless it is NULL.
 * Returns STROBE_WALK_ROOT, or STROBE_WALK_CUT when there were more frames. Any (its own thread) or sampler, window. */
enum strobe_walk_end strobe_art_walk(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread,
                                     uint64_t *frames_end, uint32_t *dex_pcs_end, uint32_t max, uint32_t *count);

/* The same, with the place of each frame in places_end[-1], ... A place is 0 when the runtime has no frame. */
enum strobe_walk_end strobe_art_walk_places(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread,
                                            uint64_t *frames_end, uint64_t *places_end, uint32_t max, uint32_t *count);

/* The same, but pseudo-methods are included: the walk reads no memory of a method. A caller that reads a method must
 * expect it to be invalid. */
enum strobe_walk_end strobe_art_walk_methods(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread,
                                             uint64_t *frames_end, uint32_t max, uint32_t *count);

#endif

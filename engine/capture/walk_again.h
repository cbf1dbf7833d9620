/* Walks a thread's own stack with the help of the walk before. Most stacks share most of their frames with the one
 * before, so most frame records still hold what they held: to look whether they do chases no pointer, and is several
 * times faster than to walk them anew. Frames that are new or changed are walked as strobe_walk_fp does.
 *
 * Exact: where a walk goes and how it ends depends on nothing but what it reads, so as long as the outer records hold
 * the same words, the walk from there on is the same.
 *
 * One memory per thread, for that thread only. Async-signal-safe, not re-entrant on one memory (explored:
 * sample/interrupted). */
#ifndef STROBE_CAPTURE_WALK_AGAIN_H
#define STROBE_CAPTURE_WALK_AGAIN_H

#include "engine/capture/walk_fp.h"
#include "engine/store/stack_table.h"

/* Zero at first use. Frames outermost first. */
struct strobe_walk_memory {
    uint32_t count;                                   /* frames of the stack found last */
    uint32_t usable;                                  /* the same, or 0 when that walk did not get to the outermost */
    enum strobe_walk_end end;
    uint64_t high, root;                              /* of the window then */
    uint64_t outer_next;                              /* frame pointer in the outermost frame's record */
    uint64_t blank_at;                                /* record without return address that ended the walk, or 0 */
    uint64_t address[STROBE_STACK_DEPTH_MAX];
    uint64_t fp[STROBE_STACK_DEPTH_MAX];
    uint64_t fresh_address[STROBE_STACK_DEPTH_MAX];   /* scratch, innermost first */
    uint64_t fresh_fp[STROBE_STACK_DEPTH_MAX];
};

/* Walks from the frame record at `fp` in w, whose bias must be 0, and leaves the stack in memory->address[0 .. count).
 * max: at most STROBE_STACK_DEPTH_MAX. Returns as strobe_walk_fp; *shared says how many outermost frames are
 * those of the stack found before. */
enum strobe_walk_end strobe_walk_again(const struct strobe_window *w, uint64_t fp, uint32_t max,
                                       struct strobe_walk_memory *memory, uint32_t *shared);

/* Forgets, when a stack was taken in another way since. */
static inline void strobe_walk_forget(struct strobe_walk_memory *memory)
{
    memory->count = memory->usable = 0;
}

#endif

/* Walks a thread's own stack with the help of its previous walk. Most stacks share most of their frames with the
 * previous stack, so most frame records still hold the same words. Comparing them with remembered words is several
 * times faster than walking them, because no load depends on an earlier one. New or changed frames are walked as in
 * strobe_walk_fp.
 *
 * The result is exact: the course and the end of a walk depend only on the words that it reads. As long as the outer
 * records hold the same words, the rest of the walk is the same.
 *
 * Each thread has one memory, which only that thread uses. Async-signal-safe, but not re-entrant on one memory
 * (explored: sample/interrupted). */
#ifndef STROBE_CAPTURE_WALK_AGAIN_H
#define STROBE_CAPTURE_WALK_AGAIN_H

#include "engine/capture/walk_fp.h"
#include "engine/store/stack_table.h"

/* Zero-initialized. Frames are stored outermost first. */
struct strobe_walk_memory {
    uint32_t count;  /* frames of the stack found last */
    uint32_t usable; /* the same, or 0 when that walk did not reach the outermost
                        frame */
    enum strobe_walk_end end;
    uint64_t high, root; /* `high` and `root` of that walk's window */
    uint64_t outer_next; /* frame pointer in the outermost frame's record */
    uint64_t blank_at;   /* address of the record with a zero return address that ended
                            the walk, or 0 */
    uint64_t address[STROBE_STACK_DEPTH_MAX];
    uint64_t fp[STROBE_STACK_DEPTH_MAX];
    uint64_t fresh_address[STROBE_STACK_DEPTH_MAX]; /* scratch, innermost first */
    uint64_t fresh_fp[STROBE_STACK_DEPTH_MAX];
};

/* Walks from the frame record at `fp` in w, whose bias must be 0, and leaves the stack in memory->address[0 ..
 * count). `max` is at most STROBE_STACK_DEPTH_MAX. Returns the same as strobe_walk_fp. *shared is the number of
 * outermost frames that equal those of the stack found before. */
enum strobe_walk_end strobe_walk_again(const struct strobe_window *w, uint64_t fp, uint32_t max,
                                       struct strobe_walk_memory *memory, uint32_t *shared);

/* Clears the memory. Called when a stack was taken by another function since. */
static inline void strobe_walk_forget(struct strobe_walk_memory *memory)
{
    memory->count = memory->usable = 0;
}

#endif

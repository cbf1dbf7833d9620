/* Real functions for the methods of a scenario: SIM_REAL_METHODS tiny ones, each at an address of its own, with a
 * symbol `sim_real_frame_N` and a frame record as compilers make it.
 *
 * Such a function asks its player, again and again, what comes next, and calls that itself: so the stack of a thread
 * holds the frames of the methods it is in and nothing between, and a real unwinder finds what the truth says. */
#ifndef STROBE_SIM_PLAYER_FRAMES_H
#define STROBE_SIM_PLAYER_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) || defined(__aarch64__)
#define SIM_REAL_FRAMES 1
#else
#define SIM_REAL_FRAMES 0
#endif

enum { SIM_REAL_FRAME_BYTES = 64 }; /* of code, each */

/* A method's function: `bytes` (a multiple of 16) is what it takes of the stack beside its record. */
typedef void sim_real_frame(void *player, size_t bytes);

/* What comes next in the innermost method: a call of a function with these bytes, or NULL: it returns. */
struct sim_real_next {
    sim_real_frame *call;
    size_t bytes;
};
struct sim_real_next sim_real_step(void *player);

extern const char sim_real_frames[];

static inline sim_real_frame *sim_real_frame_of(uint32_t number)
{
    return (sim_real_frame *)(uintptr_t)(sim_real_frames + (size_t)number * SIM_REAL_FRAME_BYTES);
}

#endif

/* Machine-code functions that stand for the methods of a scenario. There are SIM_REAL_METHODS of them. Function N has
 * the symbol `sim_real_frame_N` and makes a frame record as compilers do.
 *
 * Each function calls sim_real_step in a loop and then calls the function that sim_real_step returned. A thread's stack
 * therefore holds one frame for each active method and no frames between them. An unwinder finds the stack that the
 * truth has. */
#ifndef STROBE_SIM_PLAYER_FRAMES_H
#define STROBE_SIM_PLAYER_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) || defined(__aarch64__)
#define SIM_REAL_FRAMES 1
#else
#define SIM_REAL_FRAMES 0
#endif

enum { SIM_REAL_FRAME_BYTES = 64 }; /* size of each function's code */

/* In an Android runtime the functions of native methods are those of libapp.so, at the symbol sim_app_frames. Each has
 * two entries: one for managed code, with the arguments of a static native method (J)V, and SIM_APP_ENTRY_BYTES later
 * the function itself, for native code. */
enum { SIM_APP_ENTRY_BYTES = 8 };

/* Function of a method. `bytes` is the size of its frame beside the record, a multiple of 16. */
typedef void sim_real_frame(void *player, size_t bytes);

/* Next step of the innermost method: it calls `call` with `bytes`, or returns when `call` is NULL. */
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

/* Function of a method in libapp.so, whose symbol sim_app_frames is `frames`. It calls sim_app_step, which the player
 * exports. */
struct sim_real_next sim_app_step(void *player);

static inline sim_real_frame *sim_app_frame_of(const char *frames, uint32_t number)
{
    return (sim_real_frame *)(uintptr_t)(frames + (size_t)number * SIM_REAL_FRAME_BYTES + SIM_APP_ENTRY_BYTES);
}

static inline void *sim_app_entry_of(const char *frames, uint32_t number)
{
    return (void *)(uintptr_t)(frames + (size_t)number * SIM_REAL_FRAME_BYTES);
}

#endif

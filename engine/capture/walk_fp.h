/* Frame-pointer walk: follows the chain of (saved frame pointer, return address) pairs that code built with
 * -fno-omit-frame-pointer keeps (System V x86-64 psABI 3.2.2; AAPCS64 6.4.6; AAPCS32 6.2.1.4, where r11 is the frame
 * pointer).
 *
 * The walk reads only inside one window of stack memory, so a corrupt chain can do no harm: each record must lie in
 * the window, be aligned, and lie above the record before it (S-44). Frames are written backwards from the end of
 * the caller's array, so that they are stored outermost first without a second pass.
 *
 * The layout of frames is that of the machine that this code is built for, unless the build selects another ABI for
 * the traced program (STROBE_ABI_X86_64, STROBE_ABI_ARM64, STROBE_ABI_ARM).
 *
 * No state, no calls: any context, also while a thread is suspended. */
#ifndef STROBE_CAPTURE_WALK_FP_H
#define STROBE_CAPTURE_WALK_FP_H

#include <stddef.h>
#include <stdint.h>

#if defined(STROBE_ABI_ARM64) || (defined(__aarch64__) && !defined(STROBE_ABI_X86_64) && !defined(STROBE_ABI_ARM))
#define STROBE_FRAMES_ARM64 1
#elif defined(STROBE_ABI_ARM) || defined(__arm__)
#define STROBE_FRAMES_ARM 1
#elif defined(STROBE_ABI_X86_64) || defined(__x86_64__) || defined(__i386__)
#define STROBE_FRAMES_X86 1
#endif

/* The frame record at a frame address: two machine words. */
struct strobe_frame_record {
    uintptr_t next, return_address;
};

/* Removes from a return address what is no address: on aarch64 the pointer-authentication code (user addresses have at
 * most 48 bits), on 32-bit ARM the bit that selects Thumb code. */
static inline uint64_t strobe_frame_strip(uint64_t address)
{
#ifdef STROBE_FRAMES_ARM64
    return address & 0x0000ffffffffffffu;
#elif defined(STROBE_FRAMES_ARM)
    return address & ~(uint64_t)1;
#else
    return address;
#endif
}

/* Removes the flag of Swift's async functions from a frame pointer: they set bit 60 of the frame pointer that they
 * save (Swift's calling convention, "Asynchronous context"; -fswift-async-fp). */
static inline uint64_t strobe_frame_pointer(uint64_t fp)
{
#ifdef STROBE_FRAMES_ARM64
    return fp & ~((uint64_t)1 << 60);
#else
    return fp;
#endif
}

/* Bytes below the stack pointer that a function may use without moving it: the red zone of the System V x86-64
 * psABI. */
#if defined(__x86_64__) || defined(STROBE_ABI_X86_64)
enum { STROBE_RED_ZONE_BYTES = 128 };
#else
enum { STROBE_RED_ZONE_BYTES = 0 };
#endif

/* Stack memory [low, high) of the traced program, readable at address + bias. A chain that stops at a frame record
 * at or above `root` has reached the thread's outermost code: its caller keeps no frame pointers, as the start code
 * of the C library does not. root == 0: not known. */
struct strobe_window {
    uint64_t low, high;
    uint64_t bias;
    uint64_t root;
};

enum strobe_walk_end {
    STROBE_WALK_ROOT,     /* the chain ended with a zero frame pointer, a zero return address, or above `root`: the
                             whole stack */
    STROBE_WALK_CUT,      /* more frames than the array holds */
    STROBE_WALK_DOUBTFUL, /* the next frame pointer is not plausible, or outside the window */
};

/* Walks from the frame record at address `fp`. Writes return addresses to frames_end[-1] (innermost),
 * frames_end[-2], ..., at most `max`, and their number to *count. A return address of zero ends the walk as a root.
 * Pointer-authentication codes are removed on aarch64. */
enum strobe_walk_end strobe_walk_fp(const struct strobe_window *w, uint64_t fp, uint64_t *frames_end, uint32_t max,
                                    uint32_t *count);

/* Finds the return address of a thread that was stopped at `pc`, in a function that has no frame record yet or none
 * any more. Returns 1 and sets *slot to the address of the return address on the stack. Returns 0 when the frame
 * record is in place, or when the code does not show it. `code` holds the `code_bytes` bytes at pc. x86 only; always
 * 0 elsewhere. */
int strobe_walk_leaf_slot(uint64_t sp, const uint8_t *code, size_t code_bytes, uint64_t *slot);

#endif

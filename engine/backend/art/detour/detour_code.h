/* Operations of detours on a processor's instructions: detour_x86_64.c, detour_arm64.c. One thread at a time. */
#ifndef STROBE_BACKEND_ART_DETOUR_DETOUR_CODE_H
#define STROBE_BACKEND_ART_DETOUR_DETOUR_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STROBE_DETOURS_MAX = 64 }; /* installed at a time */

#if defined(__x86_64__)
enum { STROBE_DETOUR_JUMP_BYTES = 5 };
#define STROBE_DETOUR_REACH 0x7ff00000l /* of that jump and of rewritten operands, less a page's size and a reserve */
#else
enum { STROBE_DETOUR_JUMP_BYTES = 4 };
#define STROBE_DETOUR_REACH 0x07f00000l
#endif

/* An instruction, and where execution continues after it. */
struct strobe_detour_step {
    uint32_t bytes;
    bool jumps, calls; /* to an address in the instruction */
    bool returns;      /* a call of any kind: another thread's stack may hold the address after it */
    bool ends;         /* execution does not continue after it */
    uint64_t to;
};

/* Code being written: instructions upwards from `at`, the 64-bit words that they load downwards from `words`. The
 * caller ensures that there is memory for both: an instruction takes at most 32 bytes and 8 bytes of words. */
struct strobe_detour_code {
    uint8_t *at;
    uint64_t *words;
};

/* The moved instructions: where each was, and where it is. A jump covers at most as many instructions as it has
 * bytes. */
struct strobe_detour_moves {
    size_t count;
    const uint8_t *from[STROBE_DETOUR_JUMP_BYTES], *to[STROBE_DETOUR_JUMP_BYTES];
};

/* Returns the bytes of a landing pad at the start of a function; 0 = there is none. */
size_t strobe_detour_landing(const uint8_t *function, const uint8_t *end);

/* Appends code that undoes what the landing pad did to the registers: a return address that it signed. */
void strobe_detour_undo_landing(struct strobe_detour_code *c, const uint8_t *function, size_t landing);

/* Decodes the instruction at `at`, which must end before `end`. Returns false when it is unknown. */
bool strobe_detour_step(const uint8_t *at, const uint8_t *end, struct strobe_detour_step *step);

/* Appends code that does at c->at what the instruction at `at` does. Returns an errno: ENOTSUP, ERANGE. */
int strobe_detour_move(struct strobe_detour_code *c, const uint8_t *at, const uint8_t *end);

/* Appends a jump to any address. */
void strobe_detour_go(struct strobe_detour_code *c, const void *to);

/* Encodes the jump that replaces the start of a function at `at`; `to` is within reach. */
void strobe_detour_near_jump(uint8_t jump[STROBE_DETOUR_JUMP_BYTES], const uint8_t *at, const uint8_t *to);

/* A jump, or original bytes, to be written over code that other threads may run. */
struct strobe_detour_patch {
    uint8_t *at;                             /* in a writable page */
    const uint8_t *bytes;                    /* STROBE_DETOUR_JUMP_BYTES of them */
    const struct strobe_detour_moves *moves; /* where threads inside the bytes continue; NULL = none can be inside */
    int refused;                             /* 0, or an errno: the bytes are not written */
};

/* Writes all patches that are not refused. Other threads are stopped at most once. When they cannot be stopped, the
 * patches that need this are refused (detour_hold.h), and the others are written. */
void strobe_detour_write(struct strobe_detour_patch *patch, size_t count);

#endif

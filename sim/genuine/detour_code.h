/* What detours need to know of a processor's instructions: detour_x86_64.c, detour_arm64.c. One at a time. */
#ifndef STROBE_SIM_GENUINE_DETOUR_CODE_H
#define STROBE_SIM_GENUINE_DETOUR_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
enum { SIM_CODE_JUMP_BYTES = 5 };
#define SIM_CODE_REACH 0x7ff00000l /* of that jump and of what is rewritten, less a page's own size and more */
#else
enum { SIM_CODE_JUMP_BYTES = 4 };
#define SIM_CODE_REACH 0x07f00000l
#endif

/* An instruction, as far as it matters where it goes on. */
struct sim_code_step {
    uint32_t bytes;
    bool jumps, calls; /* to an address that it names */
    bool ends;         /* what stands behind it is not reached from it */
    uint64_t to;
};

/* Code being written: instructions forth from `at`, 64-bit words that they load back from `words`. Room for them is
 * the caller's business: no instruction takes more than 32 bytes and 8 of words. */
struct sim_code {
    uint8_t *at;
    uint64_t *words;
};

/* Makes ready; an errno. */
int sim_code_open(void);

/* Bytes of a landing pad at the start of a function: 0 = there is none. */
size_t sim_code_landing(const uint8_t *function, const uint8_t *end);

/* Reads the instruction at `at`, which ends before `end`. False: it is not known. */
bool sim_code_step(const uint8_t *at, const uint8_t *end, struct sim_code_step *step);

/* Appends what does at c->at what the instruction does at `at`. An errno: ENOTSUP, ERANGE. */
int sim_code_move(struct sim_code *c, const uint8_t *at, const uint8_t *end);

/* Appends a jump to anywhere. */
void sim_code_go(struct sim_code *c, const void *to);

/* The jump that replaces the start of a function at `at`; `to` is within reach. */
void sim_code_near_jump(uint8_t jump[SIM_CODE_JUMP_BYTES], const uint8_t *at, const uint8_t *to);

/* Writes it, or what was there, over code that other threads may come to. */
void sim_code_patch(uint8_t *at, const uint8_t bytes[SIM_CODE_JUMP_BYTES]);

#endif

/* A chain of calls between managed code and the native functions of libapp.so. A plan is a text such as "nmn": managed
 * code calls a native method, which calls a native function (n), which calls managed code (m), which calls the native
 * method again, which calls a native function. At the end of the chain a function of the test runs, for example to take
 * the stack. The plan says which frames of the chain's kind the stack must have. */
#ifndef STROBE_CONTRACT_ART_NATIVE_CHAIN_H
#define STROBE_CONTRACT_ART_NATIVE_CHAIN_H

#include "sim/player/frames.h"
#include "tests/contract_art/support/contract.h"

enum { CHAIN_MAX = 16, CHAIN_DEEP = 2, CHAIN_FUNCTIONS = 8 };

/* The chain of the case's process. */
struct chain {
    struct contract *c;
    const char *functions; /* of libapp.so: sim_app_frames */
    uint64_t sample, deep; /* ArtMethods: Main.sample, which is native, and Main.deep, which calls it */
    void (*at_the_end)(void);
    void (*begin_steps)(void); /* called at an 's' of the plan; NULL = the plans have none */
    volatile bool stepping;    /* from there until that function returns */
    const char *plan;
    uint64_t entered;   /* the frame record of the function that made the innermost call of managed code */
    uint64_t return_pc; /* into the innermost function of libapp.so: the return address of the call that it made */
    struct {
        uint32_t count;
        uint64_t frames[CHAIN_MAX * (CHAIN_DEEP + 3)]; /* outermost first; of a native function: its number + 1 */
    } expected;
};
extern struct chain chain;

/* Loads libapp.so and binds Main.sample to its function 0. Skips the case when there is no libapp.so. */
void chain_open(struct contract *c, void (*end)(void));

/* Runs a plan: the calls, then at_the_end, then the returns. */
void chain_run(const char *plan);

/* Returns a frame of a stack as `expected` has it, 0 when it is none of the chain's. */
uint64_t chain_frame(uint64_t frame);

#endif

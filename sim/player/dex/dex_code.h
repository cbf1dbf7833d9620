/* Bytecode of the methods of a scenario's dex file; see dex.h. For sim/player/dex only. */
#ifndef STROBE_SIM_PLAYER_DEX_DEX_CODE_H
#define STROBE_SIM_PLAYER_DEX_DEX_CODE_H

#include "sim/player/dex/dex_bytes.h"

/* Indexes into the file's list of methods: the methods of strobe.Player. */
struct sim_dex_player {
    uint32_t step, caught, thrown;
};
struct sim_dex_callee {
    uint32_t number; /* the result of `step` that stands for this callee */
    uint32_t place;  /* index into the file's list of methods */
};

enum { SIM_DEX_CALLEES_MAX = 9000 }; /* more callees make the code longer than an exception handler can cover */

/* Appends a code item. `callees`: in ascending order of number, without duplicates. */
void sim_dex_put_code(struct sim_dex_bytes *out, const struct sim_dex_player *player,
                      const struct sim_dex_callee *callees, uint32_t count);

#endif

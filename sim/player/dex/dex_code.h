/* What the methods of a scenario's dex file do, as code: see dex.h. For sim/genuine only. */
#ifndef STROBE_SIM_PLAYER_DEX_DEX_CODE_H
#define STROBE_SIM_PLAYER_DEX_DEX_CODE_H

#include "sim/player/dex/dex_bytes.h"

/* Places in the file's list of methods. */
struct sim_dex_player {
    uint32_t step, caught, thrown;
};
struct sim_dex_callee {
    uint32_t number, place;
}; /* number: what step answers */

enum { SIM_DEX_CALLEES_MAX = 9000 }; /* more, and the code is longer than a handler can cover */

/* Appends a code item. Callees in ascending order of number, no two the same. */
void sim_dex_put_code(struct sim_dex_bytes *out, const struct sim_dex_player *player,
                      const struct sim_dex_callee *callees, uint32_t count);

#endif

/* A scenario as a dex file: each of its methods a static Java method, that a genuine runtime runs.
 *
 * "Cache.get" becomes `static void Cache.get(long player)`; a name without a class goes into class App. A managed
 * method is a loop that asks its player what comes next and does that:
 *
 *     try { for (;;) switch (strobe.Player.step(player)) {
 *         case -1: return;
 *         case -2: throw strobe.Player.thrown(player);
 *         case N:  <method N>(player); break;      // for each method that this one can call
 *     } } catch (Throwable t) { if (!strobe.Player.caught(player, t)) throw t; continue; }
 *
 * and a native one is declared native, bound to a function that does the same through JNI. So a thread's managed stack
 * holds the frames of the scenario's methods, and little between that is the player's.
 *
 * Format: "Dalvik executable format", Android Open Source Project, version 035. Allocates. */
#ifndef STROBE_SIM_PLAYER_DEX_DEX_H
#define STROBE_SIM_PLAYER_DEX_DEX_H

#include "engine/base/error.h"
#include "sim/app/scenario.h"

/* The file in memory (*out by malloc). STROBE_BAD_INPUT with `error`: names that make no Java names, or more methods
 * than the format holds. STROBE_IO: out of memory. */
enum strobe_status sim_dex_of_scenario(const struct sim_scenario *s, void **out, size_t *bytes,
                                       struct strobe_error *error);

/* Where a scenario's method is: class ("Cache", packages by slashes) and name. `room` bytes for each. */
void sim_dex_method_name(const struct sim_scenario *s, uint32_t method, char *class, char *name, size_t room);

enum { SIM_DEX_RETURN = -1, SIM_DEX_THROW = -2 };

#endif

/* Makes a dex file of a scenario, for an Android runtime. Each method of the scenario is a static Java method.
 *
 * "Cache.get" becomes `static void Cache.get(long player)`. A name without a class goes into class App.
 * "-[Cell layout]" and "dyld4::prepare" become Cell.layout and dyld4.prepare. A managed
 * method is a loop that performs the steps of its player (`player`: the address of a struct sim_actor):
 *
 *     try { for (;;) switch (strobe.Player.step(player)) {
 *         case -1: return;
 *         case -2: throw strobe.Player.thrown(player);
 *         case N:  <method N>(player); break;      // for each method that this method calls
 *     } } catch (Throwable t) { if (!strobe.Player.caught(player, t)) throw t; continue; }
 *
 * A native method is declared native and bound to a function that does the same through JNI. A thread's managed stack
 * therefore consists of frames of the scenario's methods, with few frames of the player between them.
 *
 * Format: "Dalvik executable format", Android Open Source Project, version 035. Allocates. */
#ifndef STROBE_SIM_PLAYER_DEX_DEX_H
#define STROBE_SIM_PLAYER_DEX_DEX_H

#include "engine/base/error.h"
#include "sim/app/scenario.h"

/* Makes the file in memory (*out by malloc). STROBE_BAD_INPUT with `error`: a name is not a valid Java name, or the
 * scenario has more methods than the format allows. STROBE_IO: out of memory. */
enum strobe_status sim_dex_of_scenario(const struct sim_scenario *s, void **out, size_t *bytes,
                                       struct strobe_error *error);

/* Stores the class ("Cache", packages separated by slashes) and the name of a method. `room`: bytes of each buffer. */
void sim_dex_method_name(const struct sim_scenario *s, uint32_t method, char *class, char *name, size_t room);

enum { SIM_DEX_RETURN = -1, SIM_DEX_THROW = -2 };

#endif

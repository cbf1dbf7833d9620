/* Another program that keeps the processors busy while a scenario plays on real threads.
 *
 * The program is a child of the caller whose threads only compute; it ends when the caller does. Any thread. */
#ifndef STROBE_SIM_PLAYER_OTHERS_H
#define STROBE_SIM_PLAYER_OTHERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Starts the program with `threads` threads on `cores` processors. Returns its process id, 0 for no threads, -1 with
 * errno. */
pid_t sim_real_others_start(uint32_t threads, uint32_t cores);

/* Ends the program. No effect when pid <= 0. */
void sim_real_others_end(pid_t pid);

/* Restricts the calling process, and processes that it starts later, to `cores` of the processors that it may use, or
 * to all of them when it may use fewer. Returns false with errno when nothing has changed. */
bool sim_real_use_cores(uint32_t cores);

#endif

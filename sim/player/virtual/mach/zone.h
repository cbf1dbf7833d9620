/* The app's heap in virtual time: the C library's, behind one lock, as a malloc zone has it, and with time that passes
 * while that is held. So a thread can be stopped there, and who allocates then waits for it.
 *
 * The compiler reads this before the fake Mach's sources and the engine's backend for it
 * (sim/player/virtual/virtual.mk). Outside fibers it is the C library's heap. */
#ifndef STROBE_SIM_PLAYER_VIRTUAL_MACH_ZONE_H
#define STROBE_SIM_PLAYER_VIRTUAL_MACH_ZONE_H

#include <stdlib.h>

void *sim_zone_malloc(size_t bytes);
void *sim_zone_calloc(size_t count, size_t bytes);
void *sim_zone_realloc(void *was, size_t bytes);
void sim_zone_free(void *p);

#ifdef SIM_VIRTUAL
#define malloc  sim_zone_malloc
#define calloc  sim_zone_calloc
#define realloc sim_zone_realloc
#define free    sim_zone_free
#endif

#endif

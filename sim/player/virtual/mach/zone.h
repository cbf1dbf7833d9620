/* The app's heap in virtual time. It is the C library's heap behind one lock, as in a malloc zone. Time passes while a
 * thread holds the lock. The engine can therefore suspend a thread there, and other threads that allocate then wait for
 * the suspended one. A thread sleeps for the lock only when the holder is off its processor.
 *
 * virtual.mk includes this file before the sources of the fake Mach and of the engine's Mach backend. Outside fibers
 * the functions take no lock. */
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

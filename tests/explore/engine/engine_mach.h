/* A simulation of Mach for explored programs: port rights of one task, suspend counts of threads, a list of threads. */
#ifndef STROBE_EXPLORE_ENGINE_ENGINE_MACH_H
#define STROBE_EXPLORE_ENGINE_ENGINE_MACH_H

#include "engine/base/atomic.h"

#include <mach/mach.h>
#include <stdint.h>

enum { MACH_PLAYED_PORTS = 4 };

struct mach_played {
    strobe_a32 rights[MACH_PLAYED_PORTS];   /* by port name: number of rights; the thread's id is in ids */
    strobe_a32 suspends[MACH_PLAYED_PORTS]; /* by port name: suspends without a resume */
    uint32_t ids[MACH_PLAYED_PORTS];
    uint32_t listed; /* the port of the thread that a list holds; 0: none */
    uint64_t (*now)(void);
};

/* Sets the state that the simulated calls use from now on. Setup. */
void mach_play(struct mach_played *played);

/* Adds a right for a port. */
mach_port_t mach_played_right(mach_port_t port);

#endif

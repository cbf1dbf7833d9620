/* The guard of the suspended window: what its entry points (entries.S, forbidden.inc) and its decision (guard.c in real
 * mode, sim/player/virtual/mach/guard.c in virtual time) have of each other, and of the fake. */
#ifndef STROBE_SIM_FAKE_MACH_GUARD_GUARD_H
#define STROBE_SIM_FAKE_MACH_GUARD_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const char *const guard_names[];
extern const uint32_t guard_count;

/* In virtual time: where a name's calls go on. */
extern void *const guard_targets[];

/* Where the call of a name goes on; does not return when it is forbidden now. */
void *guard_pass(uint32_t index);

/* The fake's (fake.h); none in a process without it. */
extern uint32_t fake_mach_holds(void) __attribute__((weak));
extern uint64_t fake_mach_held(void) __attribute__((weak));

#endif

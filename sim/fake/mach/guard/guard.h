/* The guard of the suspended window: declarations shared by its entry points (entries.S, forbidden.inc) and its
 * decision (guard.c in real mode, sim/player/virtual/mach/guard.c in virtual time). */
#ifndef STROBE_SIM_FAKE_MACH_GUARD_GUARD_H
#define STROBE_SIM_FAKE_MACH_GUARD_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const char *const guard_names[];
extern const uint32_t guard_count;

/* In virtual time: the targets of the names. */
extern void *const guard_targets[];

/* Returns the target of a name's call. Does not return when the call is forbidden now. */
void *guard_pass(uint32_t index);

/* The fake's function (fake.h); absent in a process without the fake. */
extern uint32_t fake_mach_holds(void) __attribute__((weak));
extern uint64_t fake_mach_held(void) __attribute__((weak));

#endif

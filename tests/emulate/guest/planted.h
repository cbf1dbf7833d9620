/* A forbidden call, planted where a thread stands suspended: which one is said by EMULATED_PLANT in the guest's
 * environment, none when it is not set. */
#ifndef STROBE_EMULATE_GUEST_PLANTED_H
#define STROBE_EMULATE_GUEST_PLANTED_H

/* Reads the environment: before a thread is suspended. */
void planted_choose(void);

/* Makes the call. */
void planted_call(void);

#endif

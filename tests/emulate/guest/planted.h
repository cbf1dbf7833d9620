/* A forbidden call, planted where a thread stands suspended: which one is said by EMULATED_PLANT in the guest's
 * environment, none when it is not set. */
#ifndef STROBE_EMULATE_GUEST_PLANTED_H
#define STROBE_EMULATE_GUEST_PLANTED_H

#include <mach/mach.h>

/* Reads the environment: before a thread is suspended. */
void planted_choose(void);

/* Makes the call. */
void planted_call(void);

/* thread_get_state with the call before it. */
kern_return_t planted_get_state(thread_act_t thread, thread_state_flavor_t flavor, thread_state_t state,
                                mach_msg_type_number_t *count);

#endif

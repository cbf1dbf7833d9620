/* Forbidden calls, planted where a thread stands suspended: one table for real threads, virtual ones and the emulated
 * core. Which of them is said by STROBE_PLANT in the environment, none when it is not set.
 *
 * The backend is compiled with -Dthread_get_state=planted_get_state: wrong by what is planted, and by nothing else. */
#ifndef STROBE_DEADLOCK_PLANTS_H
#define STROBE_DEADLOCK_PLANTS_H

#include <mach/mach.h>

/* Reads the environment: before a thread is suspended. */
void planted_choose(void);

/* Makes the call. */
void planted_call(void);

/* thread_get_state with the call before it. */
kern_return_t planted_get_state(thread_act_t thread, thread_state_flavor_t flavor, thread_state_t state,
                                mach_msg_type_number_t *count);

#endif

/* Forbidden calls that are made while a thread is suspended: one table for real threads, virtual ones and the
 * emulated core. STROBE_PLANT in the environment selects the call; without it, no call is made.
 *
 * The backend is compiled with -Dthread_get_state=planted_get_state, so only the planted call is wrong. */
#ifndef STROBE_DEADLOCK_PLANTS_H
#define STROBE_DEADLOCK_PLANTS_H

#include <mach/mach.h>

/* Reads the environment. Call it before a thread is suspended. */
void planted_choose(void);

/* Lock and unlock the mutex of the plant pthread_mutex_lock. */
void planted_mutex_hold(void);
void planted_mutex_free(void);

/* Makes the selected call. */
void planted_call(void);

/* Makes the selected call, and then calls thread_get_state. */
kern_return_t planted_get_state(thread_act_t thread, thread_state_flavor_t flavor, thread_state_t state,
                                mach_msg_type_number_t *count);

#endif

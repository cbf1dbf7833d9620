/* State of explore_futex_wait and _wake (program.h) between operations. */
#ifndef STROBE_SIM_EXPLORE_FUTEX_H
#define STROBE_SIM_EXPLORE_FUTEX_H

/* Call before each execution: wakes all sleepers. */
void explore_futex_reset(void);

#endif

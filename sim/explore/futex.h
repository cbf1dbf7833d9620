/* What explore_futex_wait and _wake (program.h) keep between operations. */
#ifndef STROBE_SIM_EXPLORE_FUTEX_H
#define STROBE_SIM_EXPLORE_FUTEX_H

/* Before each execution: nobody sleeps. */
void explore_futex_reset(void);

#endif

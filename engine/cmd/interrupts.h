/* Signals that end a command while it writes a file. */
#ifndef STROBE_CMD_INTERRUPTS_H
#define STROBE_CMD_INTERRUPTS_H

#include <stdint.h>

/* From now on SIGINT, SIGTERM and SIGHUP remove half-written files (strobe_outfile_abandon) and end the process by the
 * same signal. Signals that are ignored stay ignored. Signals before `from_ns` on the clock below have no effect. */
void strobe_interrupts_clean(uint64_t from_ns);

/* Returns CLOCK_MONOTONIC in ns. */
uint64_t strobe_interrupts_now_ns(void);

#endif

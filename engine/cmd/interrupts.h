/* Signals that ask a command to end while it writes a file. */
#ifndef STROBE_CMD_INTERRUPTS_H
#define STROBE_CMD_INTERRUPTS_H

#include <stdint.h>

/* From now on SIGINT, SIGTERM and SIGHUP, unless they are ignored, remove what is half written (strobe_outfile_abandon)
 * and end the process by the same signal. Those that come before `from_ns` on the clock below do nothing. */
void strobe_interrupts_clean(uint64_t from_ns);

/* CLOCK_MONOTONIC, in ns. */
uint64_t strobe_interrupts_now_ns(void);

#endif

/* Monitors the window in which a thread holds another one suspended (engine/capture/guard.h). In every case, functions
 * of the C library that allocate or take a lock record a call by such a thread. */
#ifndef STROBE_CONTRACT_ART_SUPPORT_WINDOW_H
#define STROBE_CONTRACT_ART_SUPPORT_WINDOW_H

#include <stdbool.h>

/* Returns the last function that was called in the window by this process, and clears it. NULL = none. */
const char *window_offence(void);

/* Returns false in builds whose sanitizer replaces these functions itself. */
bool window_is_watched(void);

#endif

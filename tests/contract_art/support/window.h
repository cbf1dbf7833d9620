/* The suspended window under watch (engine/capture/guard.h): in every case, functions of the C library that take memory
 * or a lock note it when they are called by a thread that holds another one suspended. */
#ifndef STROBE_CONTRACT_ART_SUPPORT_WINDOW_H
#define STROBE_CONTRACT_ART_SUPPORT_WINDOW_H

#include <stdbool.h>

/* The function that was called so last, in this process; NULL = none was. Forgotten with that. */
const char *window_offence(void);

/* False in builds whose sanitizer has these functions for itself. */
bool window_is_watched(void);

#endif

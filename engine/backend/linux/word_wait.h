/* Waits for a word by futex(2), without a function of the C library that another library may replace. Any context, also
 * in signal handlers; errno stays unchanged. */
#ifndef STROBE_BACKEND_LINUX_WORD_WAIT_H
#define STROBE_BACKEND_LINUX_WORD_WAIT_H

#include "engine/base/atomic.h"

/* Waits while *word is `value`, for `ms` at most (-1: without a limit). May return early. */
void strobe_linux_wait(strobe_a32 *word, uint32_t value, int ms);

/* Ends all waits for the word. */
void strobe_linux_wake(strobe_a32 *word);

#endif

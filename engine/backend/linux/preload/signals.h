/* Keeping the stop signal ours without the program noticing. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_SIGNALS_H
#define STROBE_BACKEND_LINUX_PRELOAD_SIGNALS_H

#include <signal.h>

/* `mask`, or a copy of it in *room without the stop signal. NULL stays NULL. Any context. */
const sigset_t *strobe_signals_without_ours(const sigset_t *mask, sigset_t *room);

/* Passes an instance of the stop signal that is not ours on to the program's own disposition of it. In the handler. */
void strobe_signals_foreign(int number, siginfo_t *info, void *context);

/* Gives the program's own disposition back to the kernel, and discards what is pending of the engine's: in a forked
 * child that is not traced, or when the capture has ended and no thread of the engine sends signals any more. */
void strobe_signals_restore(void);

#endif

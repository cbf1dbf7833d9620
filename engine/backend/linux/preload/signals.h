/* Keeps the stop signal for the engine, unnoticed by the program. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_SIGNALS_H
#define STROBE_BACKEND_LINUX_PRELOAD_SIGNALS_H

#include <signal.h>

/* Returns `mask`, or when it contains the stop signal, a copy in *room without it. Returns NULL for NULL. Any
 * context. */
const sigset_t *strobe_signals_without_ours(const sigset_t *mask, sigset_t *room);

/* Gives a signal its default disposition and unblocks it in the calling thread, so that the next instance ends the
 * process. Any context. */
void strobe_signals_make_fatal(int number);

/* Passes an instance of the stop signal that the engine did not send to the program's own disposition. In the
 * handler. */
void strobe_signals_foreign(int number, siginfo_t *info, void *context);

/* Gives the program's own disposition back to the kernel, and discards the engine's pending instances. In a forked
 * child that is not traced, or when the capture has ended and no thread of the engine sends signals any more. */
void strobe_signals_restore(void);

#endif

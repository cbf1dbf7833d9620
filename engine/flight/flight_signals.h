/* Signals that trigger a dump, chained to what the process did with them before.
 *
 *   crash   SEGV, BUS, ABRT, ILL, FPE, TRAP. The handler waits for the dump. It then gives the signal back to the
 *           disposition that was there before: it restores that disposition and lets the signal come again, by the
 *           instruction that failed, or with the same siginfo when a process or a thread has sent the signal. The
 *           handler, mask, flags and stack of that disposition are therefore those that it asked for. The recorder
 *           reports one crash
 *   quit    SIGQUIT, by which Android asks for the stacks of an app that does not respond. The runtime has a thread,
 *           the signal catcher, which waits for it; all threads block it. The signal is unblocked on the main thread.
 *           Its handler asks for a dump, does not wait, and passes the signal on: to the handler before it or, when
 *           there was none, to the signal catcher
 *
 * A handler that the process installs later replaces these; if it chains, they still work. At the end of a capture a
 * disposition is put back only if no other handler has replaced it. A handler that stays only passes signals on.
 *
 * Linux and Android. The functions belong to the thread that has claimed a start or a stop. */
#ifndef STROBE_FLIGHT_FLIGHT_SIGNALS_H
#define STROBE_FLIGHT_FLIGHT_SIGNALS_H

#include "engine/flight/flight.h"

#include <signal.h>

/* How the process changes dispositions: as sigaction(2). */
typedef int strobe_sigaction_fn(int number, const struct sigaction *wanted, struct sigaction *before);

/* Installs the handlers of crashes for this recorder. */
void strobe_flight_watch_crashes(struct strobe_flight *f, strobe_sigaction_fn *set);

/* Installs the handler of SIGQUIT, and unblocks the signal on the calling thread, which must be the main thread.
 * `catcher_tid`: the runtime's signal catcher; 0 = there is none. Returns false, and changes nothing, when the signal
 * could be passed on neither to a handler nor to a catcher. */
bool strobe_flight_watch_quit(struct strobe_flight *f, strobe_sigaction_fn *set, uint32_t catcher_tid);

/* Puts the dispositions back. The main thread blocks SIGQUIT again if the calling thread is the main thread. */
void strobe_flight_leave_signals(void);

#endif

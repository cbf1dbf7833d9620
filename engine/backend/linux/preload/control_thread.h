/* The control server in a recorded program on Linux (engine/backend/common/embed/control.h). Its thread has a table of
 * descriptors of its own, where the kernel can give it one: the program then has no descriptor more, may close all of
 * its own, and a forked child inherits nothing of the server. While a capture runs, the idle thread sleeps without a
 * limit. After the end of the capture it wakes up once a second, to end when only threads of the engine are left. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_CONTROL_THREAD_H
#define STROBE_BACKEND_LINUX_PRELOAD_CONTROL_THREAD_H

#include "engine/backend/common/embed/control.h"

extern const struct strobe_control_host strobe_linux_control;

/* Starts the server that STROBE_CONTROL names, for a program that `strobe record` runs. Prints one line when it cannot.
 * After the start of the capture. */
void strobe_linux_control_start(void);

/* Returns how long a thread of the engine that outlives the capture may sleep, in ms: -1 = without a limit,
 * STROBE_CONTROL_END = it ends, because only threads of the engine are left. Such threads. */
int strobe_linux_find_idle_time(void);

#endif

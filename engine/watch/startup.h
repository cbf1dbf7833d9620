/* How long a start took. The app begins (APP_BEGIN); its application is created when the system first asks for a
 * component: the handler's messages LAUNCH_ACTIVITY 100, RELAUNCH_ACTIVITY 126, EXECUTE_TRANSACTION 159 with a
 * LaunchActivityItem (Android 9 and later), CREATE_SERVICE 114, RECEIVER 113. Then
 *
 *   first screen   the first activity gains the focus
 *   cold start     the same, unless a splash activity is configured: then the first focus after it. Of a process that
 *                  was made for a service or a receiver, the application's creation is all of it
 *   warm start     an activity is created while there is none, and gains the focus
 *
 * One "startup" finding each, at any length: application_ms, first_screen_ms and cold_ms, or warm_ms; `slow` is 1 at
 * or above the threshold (10 s cold, 4 s warm), and only then there is a stack of the calls meanwhile to blame. A
 * process in which no activity ever came is told at the end. A start is not told when its activity took 30 s from
 * creation to focus: somebody's screen was off.
 *
 * Where upstream goes wrong, ours does not: an activity whose creation was not seen is not taken for one created at
 * boot; one that is destroyed, but was never seen created, does not make the live count negative; the empty and the
 * missing splash list are lists of nothing; the focus of an activity whose name is not known counts; a start of length
 * zero is one. Source: Tencent Matrix (3b8293bd) StartupTracer and ActivityThreadHacker, as studied. */
#ifndef STROBE_WATCH_STARTUP_H
#define STROBE_WATCH_STARTUP_H

#include "engine/watch/watch.h"

strobe_watch_open_fn strobe_watch_startup;

#endif

/* Duration of app starts. The app begins at APP_BEGIN. Its application is created when the system first requests a
 * component by one of these handler messages: LAUNCH_ACTIVITY 100, RELAUNCH_ACTIVITY 126, EXECUTE_TRANSACTION 159 with
 * a LaunchActivityItem (Android 9 and later), CREATE_SERVICE 114, RECEIVER 113.
 *
 *   first screen   the first activity gets the focus
 *   cold start     the same; when a splash activity is configured, the first focus after it. For a process that was
 *                  created for a service or a receiver, the creation of the application is the whole cold start
 *   warm start     an activity is created while there is none, and gets the focus
 *
 * Each start makes one "startup" finding, however short: application_ms, first_screen_ms and cold_ms, or warm_ms.
 * `slow` is 1 from the threshold on (10 s cold, 4 s warm); only then the finding has a stack of the calls to blame. A
 * process without any activity is reported at the end. A start is not reported when its activity took 30 s from
 * creation to focus, because the screen was then off.
 *
 * Corrected defects of Matrix: an activity whose creation was not seen does not count as created at boot; destroying an
 * activity that was not seen created does not make the count negative; an empty and a missing splash list are the same;
 * the focus of an activity without a known name counts; a start of length zero counts. Source: Tencent Matrix
 * (3b8293bd) StartupTracer and ActivityThreadHacker. */
#ifndef STROBE_WATCH_STARTUP_H
#define STROBE_WATCH_STARTUP_H

#include "engine/watch/watch.h"

strobe_watch_open_fn strobe_watch_startup;

#endif

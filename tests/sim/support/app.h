/* An app with some of everything, as a scenario's text, for tests that want much to happen in little time. */
#ifndef STROBE_SIM_SUPPORT_APP_H
#define STROBE_SIM_SUPPORT_APP_H

/* The threads, methods and objects; a test puts its own "scenario", "duration", "cores", "config", "fault" lines before
 * it. */
extern const char app_of_everything[];

#endif

/* The text of a scenario that uses many operations, for tests that need many events in a short time. */
#ifndef STROBE_SIM_SUPPORT_APP_H
#define STROBE_SIM_SUPPORT_APP_H

/* The threads, methods and objects of the scenario. A test puts lines "scenario", "duration", "cores", "config" and
 * "fault" before them. */
extern const char app_of_everything[];

#endif

/* The flight recorder in an app. Its thread is attached to the runtime as a daemon, so that it can ask the runtime for
 * names of methods. */
#ifndef STROBE_BACKEND_ART_FLIGHT_APP_FLIGHT_H
#define STROBE_BACKEND_ART_FLIGHT_APP_FLIGHT_H

#include "engine/backend/common/embed/flight_capture.h"

extern const struct strobe_flight_backend strobe_art_flight;

/* Names the threads and methods of the session anew: a thread may have got its name after it was registered, and
 * methods have been met since the last call. Stops the threads of the runtime for a short time. By an attached thread,
 * one at a time. Returns true when the session has got a name of a method. */
bool strobe_art_name_session(void);

#endif

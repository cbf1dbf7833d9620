/* The flight recorder in an app. Its thread is attached to the runtime as a daemon, so that it can ask the runtime for
 * names of methods. */
#ifndef STROBE_BACKEND_ART_FLIGHT_APP_FLIGHT_H
#define STROBE_BACKEND_ART_FLIGHT_APP_FLIGHT_H

#include "engine/backend/common/embed/flight_capture.h"

extern const struct strobe_flight_backend strobe_art_flight;

#endif

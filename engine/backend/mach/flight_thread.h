/* The flight recorder in an iOS or macOS app. It has no triggers by signals. Its thread looks every 50 ms whether a
 * trigger has asked for a dump. */
#ifndef STROBE_BACKEND_MACH_FLIGHT_THREAD_H
#define STROBE_BACKEND_MACH_FLIGHT_THREAD_H

#include "engine/backend/common/embed/flight_capture.h"

extern const struct strobe_flight_backend strobe_mach_flight;

#endif

/* The flight recorder of a Linux program that records itself. Its thread does not keep the process alive, as
 * own_threads.h describes. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_FLIGHT_THREAD_H
#define STROBE_BACKEND_LINUX_PRELOAD_FLIGHT_THREAD_H

#include "engine/backend/common/embed/flight_capture.h"

extern const struct strobe_flight_backend strobe_linux_flight;

#endif

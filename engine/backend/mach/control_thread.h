/* The control server in an iOS or macOS app (engine/backend/common/embed/control.h): TCP on the loopback address, with
 * a token. Its descriptors are in the app's table. */
#ifndef STROBE_BACKEND_MACH_CONTROL_THREAD_H
#define STROBE_BACKEND_MACH_CONTROL_THREAD_H

#include "engine/backend/common/embed/control.h"

extern const struct strobe_control_host strobe_mach_control;

#endif

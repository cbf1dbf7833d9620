/* GNU Mach's clock. calls.c implements it; mach.h declares it with all other calls. */
#ifndef STROBE_GNUMACH_INCLUDE_MACH_MACH_TIME_H
#define STROBE_GNUMACH_INCLUDE_MACH_MACH_TIME_H

#include <mach/mach.h>

#endif

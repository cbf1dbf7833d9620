/* GNU Mach's clock, which calls.c makes: mach.h has it with all other calls. */
#ifndef STROBE_GNUMACH_INCLUDE_MACH_MACH_TIME_H
#define STROBE_GNUMACH_INCLUDE_MACH_MACH_TIME_H

#include <mach/mach.h>

#endif

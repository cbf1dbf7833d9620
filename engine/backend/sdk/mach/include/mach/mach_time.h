/* Declarations of Mach's clock, written from Apple's public mach/mach_time.h. Apple's mach/mach.h does not include this
 * header. */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_MACH_MACH_TIME_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_MACH_MACH_TIME_H

#include <mach/mach.h>

typedef struct mach_timebase_info {
    uint32_t numer, denom;
} mach_timebase_info_data_t;
typedef struct mach_timebase_info *mach_timebase_info_t;

uint64_t mach_absolute_time(void);                          /* does not count while the machine sleeps */
kern_return_t mach_timebase_info(mach_timebase_info_t out); /* one tick is numer / denom ns */
kern_return_t mach_wait_until(uint64_t deadline);

#endif

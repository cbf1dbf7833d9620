/* The device of a dump where the kernel says what it is. Android's comes from system properties. */
#include "engine/backend/common/embed/flight_capture.h"

#include "engine/base/time_text.h"

#include <string.h>
#include <sys/utsname.h>

void strobe_flight_read_kernel(struct strobe_flight_device *out)
{
    struct utsname system;
    uint64_t major = 0;
    if (uname(&system) != 0)
        return;
    memcpy(out->model, system.machine, strnlen(system.machine, sizeof out->model - 1));
    strobe_read_decimal(system.release, strlen(system.release), &major);
    out->level = (uint32_t)major;
}

/* The configuration of the flight recorder: a text that an app can fetch from its server, so that the recorder can be
 * switched without a new version of the app. One setting a line, NAME = VALUE; `#` begins a comment:
 *
 *   folder = /data/data/com.example.app/files/dumps   where dumps are written; {pid} is replaced. Required
 *   enabled = yes            no: there is no capture
 *   triggers = stall anr crash call control           what causes a dump; default: all
 *   stall = 2s               the main thread is blocked for this long
 *   last = 5s                how far a dump reaches back
 *   dump-bytes = 8M          most bytes of one dump; a longer one reaches back less far
 *   dumps-a-day = 10         most dumps of one day, and their bytes
 *   bytes-a-day = 64M
 *   dumps = 20               most dumps in the folder, at most 99, and their bytes. The oldest are deleted
 *   bytes = 128M
 *   free-bytes = 256M        nothing is written when the disk would have less free
 *   leave-out = SM-G900*     a device that is not captured: its model, in which * stands for any text
 *   leave-out = Pixel 3* @ 28-29                      the same, at these levels of the system only. The setting may be
 *                                                     repeated
 *
 * Times have a unit (ns, us, ms, s). Bytes may have K, M or G. Start only. */
#ifndef STROBE_FLIGHT_FLIGHT_CONFIG_H
#define STROBE_FLIGHT_FLIGHT_CONFIG_H

#include "engine/flight/dump_folder.h"

enum { STROBE_FLIGHT_CONFIG_BYTES = 8192, STROBE_FLIGHT_MODEL_BYTES = 96 };

/* The device, as `leave-out` names it. */
struct strobe_flight_device {
    char model[STROBE_FLIGHT_MODEL_BYTES]; /* Android: ro.product.model; Darwin: hw.machine; Linux: the machine */
    uint32_t level;                        /* Android: the API level; else the system's major version; 0 = not known */
};

struct strobe_flight_config {
    struct strobe_dump_folder folder;
    uint32_t triggers; /* bit k: enum strobe_trigger */
    uint64_t stall_ns, last_ns;
};

/* Reads the text; `source` names it in errors. STROBE_BAD_INPUT: a line is not valid, or there is no folder. The error
 * has the line, and what was expected. STROBE_UNSUPPORTED: the configuration leaves this device out, or is not enabled;
 * lines behind that are checked, too. */
enum strobe_status strobe_flight_read_config(const char *text, const char *source, uint32_t pid,
                                             const struct strobe_flight_device *device,
                                             struct strobe_flight_config *out, struct strobe_error *error);

/* The same for a file of at most STROBE_FLIGHT_CONFIG_BYTES - 1 bytes. STROBE_IO: it cannot be read. */
enum strobe_status strobe_flight_load_config(const char *path, uint32_t pid, const struct strobe_flight_device *device,
                                             struct strobe_flight_config *out, struct strobe_error *error);

#endif

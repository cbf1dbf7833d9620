/* The genuine runtimes: Debian's packages of libart, which say too little of what they need. For sim/genuine only. */
#ifndef STROBE_SIM_GENUINE_GENUINE_H
#define STROBE_SIM_GENUINE_GENUINE_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Opens Android 11's or 14's libart with all that it uses. STROBE_UNSUPPORTED: it is not installed, or another release
 * than asked for. `library` replaces the file of libart itself; NULL = the package's. *out as dlopen gives it. */
enum strobe_status sim_art_open_genuine(int release, const char *library, void **out, struct strobe_error *error);

/* Heap::CollectGarbage of the runtime whose JavaVM this is. False: it is not found. */
bool sim_art_collect_genuine(int release, void *library, const void *vm);

/* Opens an empty library by this name, which the dynamic linker then finds by it. False: errno. */
bool sim_art_open_empty(const char *soname);

#endif

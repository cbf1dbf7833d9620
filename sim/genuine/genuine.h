/* The genuine runtimes: Debian's packages of libart, which do not name all libraries that they need. For sim/genuine
 * only. */
#ifndef STROBE_SIM_GENUINE_GENUINE_H
#define STROBE_SIM_GENUINE_GENUINE_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Opens Android 11's or 14's libart with all libraries that it uses. STROBE_UNSUPPORTED: it is not installed, or it is
 * another release than requested. `library` replaces the file of libart itself; NULL = the package's file. *out is the
 * handle of dlopen. */
enum strobe_status sim_art_open_genuine(int release, const char *library, void **out, struct strobe_error *error);

/* Calls Heap::CollectGarbage of the runtime with this JavaVM. Returns false when it is not found. */
bool sim_art_collect_genuine(int release, void *library, const void *vm);

/* Opens an empty library with this name; the dynamic linker then finds it by the name. Returns false with errno. */
bool sim_art_open_empty(const char *soname);

#endif

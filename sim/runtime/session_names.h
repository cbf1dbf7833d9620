/* Images and names of fabricated code in a session. The code has no file on the machine. With these entries the
 * ordinary commands show the scenario's images and methods. The reader uses names of code in an image without a file
 * (engine/trace/symbols/symbols.h). */
#ifndef STROBE_SIM_RUNTIME_SESSION_NAMES_H
#define STROBE_SIM_RUNTIME_SESSION_NAMES_H

#include "engine/store/session.h"
#include "sim/app/scenario.h"

/* Names of images: the lab's own code, which traces leave out (strobe_is_engine_library), and a C library. */
#define SIM_SESSION_PLAYER "lab/strobe-player"
#define SIM_SESSION_LIBC   "libc.so.6"

enum { SIM_SESSION_OWN_IMAGES = 3 }; /* entries beside those of the scenario's images */

/* Returns the size of the region of names for a session of this scenario. */
uint32_t sim_session_names_bytes(const struct sim_scenario *scenario);

/* Adds an image, or the name of code. Does nothing when the table is full or the session has no region of names. */
void sim_session_add_image(const struct strobe_session *s, const char *name, uint64_t start, uint64_t bytes);
void sim_session_add_name(const struct strobe_session *s, const char *name, uint64_t start, uint64_t bytes);

/* Adds the methods, of `bytes_each` bytes of code from `address` on, as code of the scenario's images. Successive
 * methods of an image are one part of it. */
void sim_session_add_methods(const struct strobe_session *s, const struct sim_scenario *scenario, uint64_t address,
                             uint64_t bytes_each);

#endif

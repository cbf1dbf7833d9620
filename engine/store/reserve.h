/* Reservation of a file's disk blocks. Systems have no common call for it. */
#ifndef STROBE_STORE_RESERVE_H
#define STROBE_STORE_RESERVE_H

#include "engine/base/status.h"

#include <stdint.h>

/* Gives the empty file its length in bytes and reserves every block of it. On a file system that cannot reserve blocks,
 * the file becomes a hole of that length. STROBE_IO, with errno. Start only. */
enum strobe_status strobe_reserve(int fd, uint64_t bytes);

#endif

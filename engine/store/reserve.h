/* Room for a session file: the one call of the store that systems have no common word for. */
#ifndef STROBE_STORE_RESERVE_H
#define STROBE_STORE_RESERVE_H

#include "engine/base/status.h"

#include <stdint.h>

/* Gives the empty file its length in bytes, with every block reserved; a hole where the file system knows no reserving.
 * STROBE_IO, with errno. Creating only. */
enum strobe_status strobe_reserve(int fd, uint64_t bytes);

#endif

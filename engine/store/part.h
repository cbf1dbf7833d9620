/* A part of a structure's memory, as an offset from its start. */
#ifndef STROBE_STORE_PART_H
#define STROBE_STORE_PART_H

#include <stdint.h>

struct strobe_part { uint64_t offset, bytes; };

#endif

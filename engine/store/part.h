/* Part of a structure's memory, given by its offset from the start of the structure. */
#ifndef STROBE_STORE_PART_H
#define STROBE_STORE_PART_H

#include <stdint.h>

struct strobe_part {
    uint64_t offset, bytes;
};

#endif

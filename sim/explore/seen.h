/* A set of 64-bit hashes, each with the lowest cost at which it was met. Items with equal hashes count as equal. With n
 * items in the set, the chance that two different items are equal is about n^2 / 2^65. Start only. */
#ifndef STROBE_SIM_EXPLORE_SEEN_H
#define STROBE_SIM_EXPLORE_SEEN_H

#include <stdint.h>

struct explore_seen;
enum explore_sight { EXPLORE_SEEN_NEW, EXPLORE_SEEN_CHEAPER, EXPLORE_SEEN_BEFORE, EXPLORE_SEEN_NO_ROOM };

struct explore_seen *explore_seen_open(void); /* NULL: memory ran out */
void explore_seen_close(struct explore_seen *s);
enum explore_sight explore_seen_add(struct explore_seen *s, uint64_t hash, uint32_t cost);

#endif

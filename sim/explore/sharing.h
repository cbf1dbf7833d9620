/* The memory that threads of an explored program share: its regions, its atomic places, its allocations, and races.
 *
 * Shared memory is the program's state, the memory from explore_alloc, and the memory passed to explore_share. All
 * other memory is private to a thread. Races are found by clocks (Flanagan, Freund, "FastTrack", PLDI 2009), for words
 * of 4 bytes and the bytes in them. A plain access and another access to a byte race when one of them is a store and
 * neither happens before the other. Freeing a block counts as a plain store to all of it. A later access to it is an
 * access to freed memory. */
#ifndef STROBE_SIM_EXPLORE_SHARING_H
#define STROBE_SIM_EXPLORE_SHARING_H

#include "sim/explore/graph.h"

/* One atomic variable. */
struct explore_variable {
    uintptr_t at;
    uint32_t bytes, next; /* next: index of the next variable in the same word, + 1 */
    uint64_t initial;     /* value at its first access in the current execution */
    uint32_t execution;   /* of `initial` */
};

/* An access, with what the race detector and its messages need. */
struct explore_access {
    uint32_t thread, step;          /* number of events of the thread before it */
    const struct explore_clock *hb; /* clock of the thread now */
    bool store, atomic;
    struct explore_site site;
};

/* The reason why an access failed. */
struct explore_conflict {
    enum explore_fault fault; /* EXPLORE_FINE: it did not fail */
    uint32_t thread;          /* thread of the earlier access */
    bool store, freed;        /* the earlier access was a store, or explore_free */
    struct explore_site site; /* code address of the earlier access */
};

/* Reserves memory for programs with a state of that size. Returns false when memory runs out. */
bool explore_sharing_open(size_t state_bytes);
void explore_sharing_close(void);

/* Call before each execution: zeroes all memory, frees all blocks, forgets all accesses. Returns the state. */
void *explore_sharing_reset(void);

bool explore_is_shared(uintptr_t at);
void explore_sharing_add(void *memory, size_t bytes);

/* Returns the place of an atomic variable. EXPLORE_NOBODY: there are too many, or it overlaps one of another size. */
uint16_t explore_place_at(uintptr_t at, uint32_t bytes);
struct explore_variable *explore_variable_of(uint16_t place);
/* Returns the place of a variable that overlaps [at, at + bytes) and was accessed in this execution, or NOBODY. */
uint16_t explore_place_within(uintptr_t at, uint64_t bytes);

uint64_t explore_memory_read(uintptr_t at, uint32_t bytes);
void explore_memory_write(uintptr_t at, uint32_t bytes, uint64_t value);

struct explore_conflict explore_sharing_access(uintptr_t at, uint64_t bytes, const struct explore_access *access);

/* Allocates for a thread, or for the setup (EXPLORE_THREADS_MAX). Returns NULL when the memory is used up. */
void *explore_sharing_alloc(uint32_t thread, size_t bytes);
struct explore_conflict explore_sharing_free(void *block, const struct explore_access *access);

/* Writes the place's name for display: "state+0x40", "block 3+0x8", "shared 0+0x10". */
void explore_place_name(uintptr_t at, char *out, size_t bytes);

#endif

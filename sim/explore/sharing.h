/* The memory that threads of an explored program share: which it is, what its atomic places are, what was allocated,
 * and which accesses to it race.
 *
 * Shared are the program's state, what explore_alloc hands out, and what explore_share was told of; other memory is a
 * thread's own. Races are found by clocks (Flanagan, Freund, "FastTrack", PLDI 2009), for words of 4 bytes and the
 * bytes in them: a plain access and another access to a byte race when one is a store and neither happens before the
 * other. To free a block is a plain store to all of it; what it is accessed by later accesses freed memory. */
#ifndef STROBE_SIM_EXPLORE_SHARING_H
#define STROBE_SIM_EXPLORE_SHARING_H

#include "sim/explore/graph.h"

/* One atomic variable. */
struct explore_variable {
    uintptr_t at;
    uint32_t bytes, next; /* next: of the same word, + 1 */
    uint64_t initial;     /* value when it was accessed first, in the present execution */
    uint32_t execution;   /* of `initial` */
};

/* An access, as the race detector and its messages need it. */
struct explore_access {
    uint32_t thread, step;          /* events of the thread before it */
    const struct explore_clock *hb; /* of the thread now */
    bool store, atomic;
    struct explore_site site;
};

/* Why an access failed. */
struct explore_conflict {
    enum explore_fault fault; /* EXPLORE_FINE: it did not */
    uint32_t thread;          /* whose earlier access it meets */
    bool store, freed;        /* that was a store, or explore_free */
    struct explore_site site; /* where that was */
};

/* Makes room for programs of that state. False: no memory. */
bool explore_sharing_open(size_t state_bytes);
void explore_sharing_close(void);

/* Before each execution: all memory zeroed, nothing allocated, no access known. Returns the state. */
void *explore_sharing_reset(void);

bool explore_is_shared(uintptr_t at);
void explore_sharing_add(void *memory, size_t bytes);

/* The place of an atomic variable; EXPLORE_NOBODY when there are too many, or one overlaps another of another size. */
uint16_t explore_place_at(uintptr_t at, uint32_t bytes);
struct explore_variable *explore_variable_of(uint16_t place);
/* The place of a variable that overlaps [at, at + bytes) and was accessed in this execution; NOBODY: none. */
uint16_t explore_place_within(uintptr_t at, uint64_t bytes);

uint64_t explore_memory_read(uintptr_t at, uint32_t bytes);
void explore_memory_write(uintptr_t at, uint32_t bytes, uint64_t value);

struct explore_conflict explore_sharing_access(uintptr_t at, uint64_t bytes, const struct explore_access *access);

/* Of a thread, or EXPLORE_THREADS_MAX for the setup. NULL: more than there is room for. */
void *explore_sharing_alloc(uint32_t thread, size_t bytes);
struct explore_conflict explore_sharing_free(void *block, const struct explore_access *access);

/* Writes the place's name for people: "state+0x40", "block 3+0x8", "shared 0+0x10". */
void explore_place_name(uintptr_t at, char *out, size_t bytes);

#endif

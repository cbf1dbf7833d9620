/* A failed execution as text, for explore_save and explore_replay: lines
 *
 *     strobe explore 1
 *     program ring/lap
 *     memory c11
 *     size 3
 *     spurious no
 *     steps 2000
 *     frozen none                          or: THREAD STEP, the thread's index
 *     interrupted none
 *     fault data race
 *     message ring.c:12: ...
 *     operations 2
 *     0.0 store release 4 0x1 start state+0x40
 *     1.0 load acquire 4 0x1 0.0 state+0x40
 *
 * Operations are in the order in which they were run. Each has THREAD.NUMBER, the operation, its order, its bytes, its
 * value, its edge and its place. The edge of a load or update is the operation that it reads from. The edge of a store
 * is the operation whose store is right before it in the order of the place. "start" is the initial value. "-" means no
 * edge: for fences, choices and the plain access that failed. An operation without a place has "-" there. Numbers count
 * from 0 in each thread. Lines that begin with # are comments. */
#ifndef STROBE_SIM_EXPLORE_SAVED_H
#define STROBE_SIM_EXPLORE_SAVED_H

#include "engine/base/error.h"
#include "sim/explore/explore.h"

struct explore_saved {
    char *program;
    struct explore_options options; /* memory, size, spurious, steps_max; the others are defaults */
    struct explore_failure failure; /* its steps have no site and no text */
    uint32_t *line;                 /* line number in the file, for each step */
};

/* Reads a file. STROBE_IO or STROBE_BAD_INPUT with a line in `error`. explore_saved_free in any case. */
enum strobe_status explore_saved_read(const char *path, struct explore_saved *out, struct strobe_error *error);
void explore_saved_free(struct explore_saved *saved);

#endif

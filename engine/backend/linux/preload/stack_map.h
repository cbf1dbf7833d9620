/* The memory of the stacks of threads that the engine has not seen begin. A thread that finds its own stack by the C
 * library would allocate memory and open a file, which a hook or a signal handler must not. So the helper of an
 * attached library lists the writable mappings without a file, and a thread searches that list for its stack pointer.
 *
 *   updates   the list updates % 2 is valid; 0: none is
 *   reader    reads updates, searches that list, and reads updates again: another number gives no stack
 *   writer    writes the list that is not valid, then updates
 *
 * A reader may be interrupted for so long that the list which it searches is written again. It then reads words of the
 * new list, so all words are atomic. A fence on either side makes the reader see the other number after any new word.
 * (explored: stackmap/update) */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_STACK_MAP_H
#define STROBE_BACKEND_LINUX_PRELOAD_STACK_MAP_H

#include "engine/backend/linux/maps.h"
#include "engine/base/atomic.h"

enum {
#ifdef STROBE_SMALL
    STROBE_STACK_MAPS_MAX = 2, /* for exploration: the algorithm does not depend on it */
#else
    STROBE_STACK_MAPS_MAX = 8192,
#endif
};

/* Zero at first. */
struct strobe_stack_map {
    struct strobe_stack_list {
        strobe_a32 count;
        struct {
            strobe_a64 low, high;
        } map[STROBE_STACK_MAPS_MAX];
    } list[2];
    strobe_a32 updates;
};

/* The stacks of this process. */
extern struct strobe_stack_map strobe_process_stacks;

/* Lists the mappings that `visit_maps` shows, in order of addresses; in a process, strobe_linux_visit_maps. The helper
 * before the start of the capture, then the sampler between passes. */
void strobe_stack_map_update(struct strobe_stack_map *m,
                             void (*visit_maps)(bool (*visit)(void *ctx, const struct strobe_linux_map *map),
                                                void *ctx));

/* Finds the mapping that contains `sp`. Returns false when the list does not have it. Any context. */
bool strobe_stack_map_find(const struct strobe_stack_map *m, uint64_t sp, uint64_t *low, uint64_t *high);

#endif

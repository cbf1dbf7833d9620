/* Counts the hooks that are running, so that an attached library knows when no thread is inside it (attach/attach.h).
 * Only that library is compiled with STROBE_ATTACHED: other libraries stay loaded, and their hooks count nothing.
 *
 * A hook counts itself at its begin and at its end, also when the thread waits in the hooked function meanwhile. The
 * first instructions of a hook, and its last ones, are outside of the count. The counters are apart from each other,
 * and a thread's address in memory selects one, so that threads seldom share a cache line.
 *
 * A jump out of a hook by longjmp leaves the hook counted forever. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_VISITS_H
#define STROBE_BACKEND_LINUX_PRELOAD_VISITS_H

#include "engine/base/atomic.h"
#include "engine/base/hint.h"
#include "engine/capture/thread.h"

#include <stdbool.h>
#include <stddef.h>

enum { STROBE_VISIT_SHARDS = 64 };

struct strobe_visits {
    struct {
        _Alignas(128) strobe_a32 running;
    } shard[STROBE_VISIT_SHARDS];
};
extern struct strobe_visits strobe_visits;

/* Counts the calling hook. Returns the counter for strobe_visit_end. */
static STROBE_ALWAYS_INLINE strobe_a32 *strobe_visit_begin(void)
{
    uintptr_t thread = (uintptr_t)&strobe_local;
    strobe_a32 *running = &strobe_visits.shard[(thread >> 8 ^ thread >> 12) % STROBE_VISIT_SHARDS].running;
    strobe_add_acq_rel(running, 1);
    return running;
}

/* An asynchronous cancellation may unwind a hook at an instruction at which *visit is not set: it then holds any value,
 * which is no counter. */
static STROBE_ALWAYS_INLINE void strobe_visit_end(strobe_a32 *const *visit)
{
    if ((uintptr_t)*visit - (uintptr_t)strobe_visits.shard < sizeof strobe_visits.shard)
        strobe_add_acq_rel(*visit, UINT32_MAX);
}

/* The first line of a hook. The count ends with the function, also by cancellation. */
#ifdef STROBE_ATTACHED
#define HOOK_BEGINS                                                                                                    \
    strobe_a32 *visit_ __attribute__((cleanup(strobe_visit_end))) = strobe_visit_begin();                              \
    (void)visit_
#else
#define HOOK_BEGINS (void)0
#endif

/* Returns the number of hooks that are counted now. Any thread. */
uint32_t strobe_visits_running(void);

#endif

/* Allocations and releases. Every allocation is counted, and is a point event that passes the gate. A logger that was
 * installed before is still called. */
#include "engine/backend/mach/events.h"
#include "engine/base/error.h"

#include <malloc_logger.h>

static malloc_logger_t *before;

/* True when the last capture could not remove its logger, because another logger was installed over it. That one may
 * call `logger`, so `logger` must not call it. */
static bool is_covered;
static strobe_a32 records; /* 1: from install_logger, unless it refuses, to remove_logger */

static void logger(uint32_t type, uintptr_t zone, uintptr_t arg2, uintptr_t arg3, uintptr_t result, uint32_t skip)
{
    uint32_t on = strobe_switched();
    if (before)
        before(type, zone, arg2, arg3, result, skip);
    if (!strobe_load_relaxed(&records))
        return;
    struct strobe_thread *t = strobe_mach_thread(on, type & MALLOC_LOG_TYPE_ALLOCATE ? "malloc" : "free");
    if (!t)
        return;
    /* realloc has both types; its size is the argument after the old address. */
    if (type & MALLOC_LOG_TYPE_ALLOCATE && result)
        strobe_point_alloc(t, on, type & MALLOC_LOG_TYPE_DEALLOCATE ? arg3 : arg2, STROBE_HERE);
    else if (type & MALLOC_LOG_TYPE_DEALLOCATE && arg2)
        strobe_point_dense(t, on, STROBE_KIND_FREE, arg2, STROBE_HERE);
}

static strobe_a64 *malloc_logger_word(void)
{
    return (strobe_a64 *)(void *)&malloc_logger;
}

static bool install_logger(struct strobe_error *error)
{
    uint64_t was = strobe_load_acquire(malloc_logger_word()), ours = STROBE_MACH_OBJECT(logger);
    is_covered = is_covered && was && was != ours;
    strobe_store_relaxed(&records, !is_covered);
    if (is_covered) {
        strobe_error_join(error, "", "another malloc_logger is installed over the engine's, and may call it");
        return false;
    }
    if (was != ours)
        before = (malloc_logger_t *)(uintptr_t)was;
    strobe_store_release(malloc_logger_word(), ours);
    return true;
}

static void remove_logger(void)
{
    uint64_t ours = STROBE_MACH_OBJECT(logger);
    strobe_store_relaxed(&records, 0);
    is_covered = !strobe_cas_acq_rel(malloc_logger_word(), &ours, STROBE_MACH_OBJECT(before));
}

const struct strobe_mach_feature strobe_mach_feature_malloc = {STROBE_MACH_MALLOC, NULL, install_logger, remove_logger};

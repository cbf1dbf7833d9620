/* Allocations and releases of the heap, and of pages. Every allocation of the heap is counted. Each event is a point
 * that passes the gate.
 *
 *   malloc_logger       libmalloc calls it
 *   __syscall_logger    libsystem_kernel calls it: mmap, munmap, vm_allocate, vm_deallocate and their kin. mprotect
 *                       calls no logger, so it has a hook
 *
 * A logger that was installed before is still called. */
#include "engine/backend/mach/events.h"
#include "engine/base/error.h"

#include <malloc_logger.h>
#include <sys/mman.h>

/* One of the two loggers. */
struct logger_place {
    malloc_logger_t **pointer; /* libSystem's variable */
    malloc_logger_t *ours, *before;
    const char *covered; /* why it cannot be installed in that case */
    bool is_covered;     /* the last capture could not remove our logger, because another one was installed over it.
                            That one may call ours, so ours must not call it */
    strobe_a32 records;  /* 1: from install_logger, unless it refuses, to remove_logger */
};

static malloc_logger_t heap_logger, page_logger;
static struct logger_place heap = {.pointer = &malloc_logger,
                                   .ours = heap_logger,
                                   .covered = "another malloc_logger is installed over the engine's, and may call it"};
static struct logger_place pages = {.pointer = &__syscall_logger,
                                    .ours = page_logger,
                                    .covered =
                                        "another __syscall_logger is installed over the engine's, and may call it"};

/* Returns the calling thread when the event is recorded. */
static struct strobe_thread *caller_of_logger(const struct logger_place *l, uint32_t on, const char *call)
{
    return strobe_load_relaxed(&l->records) ? strobe_mach_thread(on, call) : NULL;
}

static void heap_logger(uint32_t type, uintptr_t zone, uintptr_t arg2, uintptr_t arg3, uintptr_t result, uint32_t skip)
{
    uint32_t on = strobe_switched();
    if (heap.before)
        heap.before(type, zone, arg2, arg3, result, skip);
    struct strobe_thread *t = caller_of_logger(&heap, on, type & MALLOC_LOG_TYPE_ALLOCATE ? "malloc" : "free");
    if (!t)
        return;
    /* realloc has both types; its size is the argument after the old address. */
    if (type & MALLOC_LOG_TYPE_ALLOCATE && result)
        strobe_point_alloc(t, on, type & MALLOC_LOG_TYPE_DEALLOCATE ? arg3 : arg2, STROBE_HERE);
    else if (type & MALLOC_LOG_TYPE_DEALLOCATE && arg2)
        strobe_point_dense(t, on, STROBE_KIND_FREE, arg2, STROBE_HERE);
}

static void page_logger(uint32_t type, uintptr_t task, uintptr_t arg2, uintptr_t arg3, uintptr_t result, uint32_t skip)
{
    uint32_t on = strobe_switched();
    bool allocates = type & MALLOC_LOG_TYPE_VM_ALLOCATE;
    if (pages.before)
        pages.before(type, task, arg2, arg3, result, skip);
    struct strobe_thread *t = caller_of_logger(&pages, on, allocates ? "vm_allocate" : "vm_deallocate");
    if (t && (allocates || type & MALLOC_LOG_TYPE_VM_DEALLOCATE))
        strobe_mach_point(t, allocates ? STROBE_KIND_ALLOC : STROBE_KIND_FREE, arg2, STROBE_HERE);
}

static int hook_mprotect(void *address, size_t bytes, int protection)
{
    struct strobe_thread *t = strobe_mach_thread(strobe_switched(), "mprotect");
    int r = mprotect(address, bytes, protection);
    if (t)
        strobe_mach_point(t, STROBE_KIND_ALLOC, bytes, STROBE_HERE);
    return r;
}

static strobe_a64 *logger_word(const struct logger_place *l)
{
    return (strobe_a64 *)(void *)l->pointer;
}

static bool install_logger(struct logger_place *l, struct strobe_error *error)
{
    uint64_t was = strobe_load_acquire(logger_word(l)), ours = STROBE_MACH_OBJECT(l->ours);
    l->is_covered = l->is_covered && was && was != ours;
    strobe_store_relaxed(&l->records, !l->is_covered);
    if (l->is_covered) {
        strobe_error_join(error, "", l->covered);
        return false;
    }
    if (was != ours)
        l->before = (malloc_logger_t *)(uintptr_t)was;
    strobe_store_release(logger_word(l), ours);
    return true;
}

static void remove_logger(struct logger_place *l)
{
    uint64_t ours = STROBE_MACH_OBJECT(l->ours);
    strobe_store_relaxed(&l->records, 0);
    l->is_covered = !strobe_cas_acq_rel(logger_word(l), &ours, STROBE_MACH_OBJECT(l->before));
}

static bool install_loggers(struct strobe_error *error)
{
    if (!install_logger(&heap, error))
        return false;
    if (install_logger(&pages, error))
        return true;
    remove_logger(&heap);
    return false;
}

static void remove_loggers(void)
{
    remove_logger(&pages);
    remove_logger(&heap);
}

static const struct strobe_rebinding rebindings[] = {
    {"mprotect", (void *)hook_mprotect, (void *)mprotect},
    {0},
};

const struct strobe_mach_feature strobe_mach_feature_malloc = {STROBE_MACH_MALLOC, rebindings, install_loggers,
                                                               remove_loggers};

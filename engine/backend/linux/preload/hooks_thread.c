/* Threads. Start and end are forced points. A join is a wait that the end of the other thread ends. Every thread from
 * pthread_create is registered before its own code runs, and is detached however it ends: by return, pthread_exit or
 * cancellation. */
#include "engine/backend/linux/preload/hook.h"
#include "engine/backend/linux/preload/own_threads.h"
#include "engine/backend/linux/preload/restrict.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

struct thread_start {
    void *(*routine)(void *);
    void *argument;
    bool restricted;
};

/* Counts a request without an outcome as dropped. An asynchronous cancellation inside the engine leaves such a request.
 * Kinds that the sampler writes are not changed. */
static void drop_unfinished_requests(struct strobe_thread *t)
{
    for (unsigned kind = STROBE_KIND_NONE + 1; kind < STROBE_KIND_COUNT; kind++) {
        struct strobe_account *a = &t->entry->account[kind];
        if (kind == STROBE_KIND_ASYNC || kind == STROBE_KIND_COUNTER || kind == STROBE_KIND_HITCH)
            continue;
        uint64_t outcomes = strobe_load_relaxed(&a->sampled) + strobe_load_relaxed(&a->gated) +
                            strobe_load_relaxed(&a->paused) + strobe_load_relaxed(&a->unwind_failed) +
                            strobe_load_relaxed(&a->dropped);
        uint64_t requests = strobe_load_relaxed(&a->requests);
        if (requests > outcomes)
            strobe_bump(&a->dropped, requests - outcomes);
    }
}

static void end_traced_thread(int *unused)
{
    struct strobe_thread *t = strobe_preload_thread();
    (void)unused;
    strobe_own_threads_note_exit(0);
    if (!t || strobe_switched() == STROBE_OFF)
        return;
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    strobe_thread_rename(t, name);
    strobe_point_forced(t, STROBE_KIND_THREAD, 0, STROBE_HERE);
    strobe_hand_over(t, (uint64_t)pthread_self(), STROBE_RELEASE_ALL, STROBE_HERE);
    if (strobe_load_relaxed(&t->inside))
        drop_unfinished_requests(t);
    strobe_thread_detach(t);
}

static void *run_traced_thread(void *p)
{
    struct thread_start b = *(struct thread_start *)p;
    if (b.restricted)
        strobe_restrict_inherit();
    /* An allocator may initialize itself for this thread here, by calls that are hooked. These hooks must not register
     * the thread, because it would be registered twice. */
    strobe_local.busy = 1;
    strobe_fence_signal();
    strobe_real()->free(p);
    strobe_fence_signal();
    strobe_local.busy = b.restricted;
    struct strobe_thread *t =
        b.restricted || strobe_switched() == STROBE_OFF ? NULL : strobe_preload_attach_known(false);
    if (t)
        strobe_point_forced(t, STROBE_KIND_THREAD, 1, STROBE_HERE);
    else if (strobe_preload.may_start && !b.restricted)
        strobe_preload_note_stack(false);
    int ends __attribute__((cleanup(end_traced_thread))) = 0;
    (void)ends;
    return b.routine(b.argument);
}

/* In an attached library a thread must not begin in this code, because the library is unloaded before the thread ends.
 */
static int create_unwrapped(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                            void *argument)
{
    int r = strobe_real()->pthread_create(thread, attributes, routine, argument);
    if (strobe_preload.attached)
        strobe_hook_point(STROBE_KIND_THREAD, 0, STROBE_HERE);
    return r;
}

HOOK(int, pthread_create)(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *argument)
{
    HOOK_BEGINS;
    strobe_hook_forbidden("pthread_create");
    struct strobe_real *real = strobe_real();
    if (strobe_own_thread_starts)
        return real->pthread_create(thread, attributes, routine, argument);
    bool wraps = !strobe_preload.attached && (strobe_preload.started || strobe_preload.may_start);
    struct thread_start *b = wraps ? real->malloc(sizeof *b) : NULL;
    if (!b)
        return create_unwrapped(thread, attributes, routine, argument);
    *b = (struct thread_start){routine, argument, strobe_restricted};
    int r = real->pthread_create(thread, attributes, run_traced_thread, b);
    if (r)
        real->free(b);
    strobe_hook_point(STROBE_KIND_THREAD, 0, STROBE_HERE);
    return r;
}

HOOK(int, pthread_setname_np)(pthread_t thread, const char *name)
{
    HOOK_BEGINS;
    int r = strobe_real()->pthread_setname_np(thread, name);
    if (r == 0 && pthread_equal(thread, pthread_self()) && strobe_preload_thread())
        strobe_thread_rename(strobe_preload_thread(), name);
    return r;
}

HOOK(int, prctl)(int option, ...)
{
    HOOK_BEGINS;
    va_list arguments;
    unsigned long a[4];
    va_start(arguments, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    bool restricts = strobe_restrict_by_prctl(option, a[0]);
    if (restricts)
        strobe_restrict_begin(false);
    int r = strobe_real()->prctl(option, a[0], a[1], a[2], a[3]);
    if (restricts)
        strobe_restrict_end(false, r == 0);
    if (r == 0 && option == PR_SET_NAME && strobe_preload_thread())
        strobe_thread_rename(strobe_preload_thread(), (const char *)a[0]);
    return r;
}

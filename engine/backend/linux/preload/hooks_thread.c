/* Threads: start and end are forced points, joins are waits that the thread's end ends. Every thread made by
 * pthread_create is registered before its own code runs, and signs off however it ends: return, pthread_exit or
 * cancellation. */
#include "engine/backend/linux/preload/hook.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

struct birth { void *(*routine)(void *); void *argument; };

static void sign_off(int *unused)
{
    struct strobe_thread *t = strobe_local.thread;
    (void)unused;
    if (!t || strobe_switched() == STROBE_OFF)
        return;
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    strobe_thread_rename(t, name);
    strobe_point_forced(t, STROBE_KIND_THREAD, 0, HERE);
    strobe_hand_over(t, (uint64_t)pthread_self(), STROBE_RELEASE_ALL, HERE);
    strobe_thread_detach(t);
}

static void *live(void *p)
{
    struct birth b = *(struct birth *)p;
    strobe_real()->free(p);
    if (strobe_switched() == STROBE_OFF)
        return b.routine(b.argument);
    struct strobe_thread *t = strobe_preload_attach_known(false);
    if (t)
        strobe_point_forced(t, STROBE_KIND_THREAD, 1, HERE);
    int ends __attribute__((cleanup(sign_off))) = 0;
    (void)ends;
    return b.routine(b.argument);
}

HOOK int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *argument)
{
    strobe_hook_forbidden("pthread_create");
    struct strobe_real *real = strobe_real();
    struct birth *b = strobe_switched() == STROBE_OFF ? NULL : real->malloc(sizeof *b);
    if (!b)
        return real->pthread_create(thread, attributes, routine, argument);
    *b = (struct birth){routine, argument};
    int r = real->pthread_create(thread, attributes, live, b);
    if (r)
        real->free(b);
    strobe_hook_point(STROBE_KIND_THREAD, 0, HERE);
    return r;
}

HOOK int pthread_join(pthread_t thread, void **result)
{
    WAIT(STROBE_KIND_THREAD, (uint64_t)thread);
    int r = strobe_real()->pthread_join(thread, result);
    strobe_hook_woken(&scope_, (uint64_t)thread, r ? STROBE_WAKE_NONE : STROBE_WAKE_RELEASED, false);
    return r;
}

HOOK int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
{
    WAIT(STROBE_KIND_THREAD, (uint64_t)thread);
    int r = strobe_real()->pthread_timedjoin_np(thread, result, until);
    enum strobe_wake how = r == 0           ? STROBE_WAKE_RELEASED
                           : r == ETIMEDOUT ? STROBE_WAKE_TIMEOUT
                                            : STROBE_WAKE_NONE;
    strobe_hook_woken(&scope_, (uint64_t)thread, how, false);
    return r;
}

HOOK int pthread_setname_np(pthread_t thread, const char *name)
{
    int r = strobe_real()->pthread_setname_np(thread, name);
    if (r == 0 && pthread_equal(thread, pthread_self()) && strobe_local.thread)
        strobe_thread_rename(strobe_local.thread, name);
    return r;
}

HOOK int prctl(int option, ...)
{
    va_list arguments;
    unsigned long a[4];
    va_start(arguments, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    int r = strobe_real()->prctl(option, a[0], a[1], a[2], a[3]);
    if (r == 0 && option == PR_SET_NAME && strobe_local.thread)
        strobe_thread_rename(strobe_local.thread, (const char *)a[0]);
    return r;
}

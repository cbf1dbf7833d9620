/* The C part of hooks_jump.S. */
#include "engine/backend/linux/preload/hook.h"

#include <errno.h>

void strobe_vfork_begins(void);
long strobe_vfork_ends(long result);
void *strobe_dlopen_begins(const uint64_t *return_slot, uint64_t frame);

void strobe_vfork_begins(void)
{
    struct strobe_thread *t = strobe_preload_thread();
    strobe_real();
    if (t)
        strobe_store_relaxed(&t->inside, 1);
    strobe_fence_signal();
}

long strobe_vfork_ends(long result)
{
    struct strobe_thread *t = strobe_preload_thread();
    if (t)
        strobe_thread_leave(t);
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

/* `frame` is the caller's frame pointer. The function builds the frame record that a called function would have, which
 * joins this frame to the return address. It reports the event before the load. */
void *strobe_dlopen_begins(const uint64_t *return_slot, uint64_t frame)
{
    struct {
        uint64_t next, return_address;
    } record = {frame, *return_slot};
    HOOK_BEGINS;
    strobe_hook_forbidden("dlopen");
    struct strobe_thread *t = strobe_hook_thread(strobe_switched());
    if (t)
        strobe_point_forced(t, STROBE_KIND_LOAD, 0,
                            (struct strobe_site){(uint64_t)(uintptr_t)&record, record.return_address});
    void *(*real)(const char *, int) = strobe_real()->dlopen;
    return *(void **)&real;
}

/* Locks, files, sockets, sleeps and waits: the hooks that Android has as well. The stop signal is removed from signal
 * masks that a call sets for its duration.
 *
 * libunwind opens pipes in the program's name to probe memory. The hook moves these pipes to high numbers, so that the
 * program's descriptors keep theirs. libunwind opens the pipes when it starts, and again when it finds that the program
 * has closed them. */
#include "engine/backend/linux/descriptors.h"
#include "engine/backend/linux/preload/hook.h"
#include "engine/backend/linux/preload/signals.h"

static bool traces_locks(void)
{
    return strobe_switched() != STROBE_OFF && strobe_preload_thread();
}

/* Meanwhile the parent's thread counts as inside the engine (hooks_jump.S). */
bool strobe_hook_in_vfork(void)
{
    return strobe_preload_thread() && strobe_load_relaxed(&strobe_preload_thread()->inside);
}

static bool raise_own_pipe(int ends[2])
{
    const struct strobe_thread *t = strobe_preload_thread();
    bool own = strobe_local.busy || (t && strobe_load_relaxed(&t->inside));
    for (int i = 0; own && i < 2; i++)
        ends[i] = strobe_linux_raise_descriptor(ends[i]);
    return own;
}

#define HOOK_TRIES            traces_locks()
#define HOOK_MASK(mask, room) strobe_signals_without_ours(mask, room)
#define HOOK_OWNS_PIPE(ends)  raise_own_pipe(ends)

#include "engine/backend/common/libc/descriptor_hooks.inc"
#include "engine/backend/common/libc/file_hooks.inc"
#include "engine/backend/common/libc/lock_hooks.inc"
#include "engine/backend/common/libc/socket_hooks.inc"
#include "engine/backend/common/libc/wait_hooks.inc"

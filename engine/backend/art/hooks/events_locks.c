/* Locks, conditions and semaphores of native code (libc.h). */
#include "engine/backend/art/hooks/libc.h"

static STROBE_ALWAYS_INLINE struct strobe_thread *art_lock_thread(uint32_t on)
{
    return strobe_unlikely(on != STROBE_OFF) ? strobe_art_registered_thread(on) : NULL;
}

#define HOOK_THREAD(on) art_lock_thread(on)

#include "engine/backend/common/libc/lock_hooks.h"

const struct strobe_art_libc_hook strobe_art_lock_hooks[] = {STROBE_LIBC_LOCKS(STROBE_LIBC_HOOK)};
const uint32_t strobe_art_lock_hook_count = sizeof strobe_art_lock_hooks / sizeof strobe_art_lock_hooks[0];

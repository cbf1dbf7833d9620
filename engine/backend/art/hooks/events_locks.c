/* Locks, conditions and semaphores of native code (libc.h). */
#include "engine/backend/art/hooks/libc.h"

#include "engine/backend/common/libc/lock_hooks.inc"

const struct strobe_art_libc_hook strobe_art_lock_hooks[] = {STROBE_LIBC_LOCKS(STROBE_LIBC_HOOK)};
const uint32_t strobe_art_lock_hook_count = sizeof strobe_art_lock_hooks / sizeof strobe_art_lock_hooks[0];

/* Restores exchanged slots. hook.c calls it. Start and end only. */
#ifndef STROBE_BACKEND_ART_HOOKS_HOOK_SLOT_H
#define STROBE_BACKEND_ART_HOOKS_HOOK_SLOT_H

#include "engine/backend/art/hooks/hook.h"

/* Restores the slots of a hook of kind SLOT. STROBE_EXISTS: another program has hooked a slot later; nothing is
 * changed. STROBE_IO: a slot cannot be made writable; this slot and the following ones stay exchanged, and the caller
 * may try again. */
enum strobe_status strobe_hook_slots_restore(const struct strobe_hook *h);

#endif

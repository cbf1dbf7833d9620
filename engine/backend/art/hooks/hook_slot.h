/* What hook.c leaves to hook_slot.c: exchanged slots put back. Start and end only. */
#ifndef STROBE_BACKEND_ART_HOOKS_HOOK_SLOT_H
#define STROBE_BACKEND_ART_HOOKS_HOOK_SLOT_H

#include "engine/backend/art/hooks/hook.h"

/* Of a hook of way SLOT. STROBE_EXISTS: somebody has hooked on top; nothing is changed. STROBE_IO: a slot can't be made
 * writable; it and those behind it stay exchanged, and one may try again. */
enum strobe_status strobe_hook_slots_put_back(const struct strobe_hook *h);

#endif

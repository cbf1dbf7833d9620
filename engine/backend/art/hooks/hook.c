#include "engine/backend/art/hooks/hook.h"

#include "engine/backend/art/hooks/hook_slot.h"

#include <errno.h>
#include <string.h>

/* ---- native ---- */

enum strobe_status strobe_hook_native_offset(const void *method, size_t bytes, const void *known, uint32_t *offset)
{
    int found = 0;
    for (size_t at = 0; at + sizeof known <= bytes; at += sizeof known) {
        const void *word;
        memcpy(&word, (const char *)method + at, sizeof word);
        if (word == known) {
            *offset = (uint32_t)at;
            found++;
        }
    }
    return found == 1 ? STROBE_OK : STROBE_NO_ENTRY;
}

enum strobe_status strobe_hook_native(struct strobe_hook *h, void *method, uint32_t offset, void *replacement)
{
    void **word = (void **)(void *)((char *)method + offset);
    void *there = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    if (h->kind != STROBE_HOOK_NONE || there == replacement)
        return STROBE_EXISTS;
    /* The original is known before the first call can come. */
    do {
        if (!there)
            return STROBE_NO_ENTRY;
        h->original = there;
    } while (!__atomic_compare_exchange_n(word, &there, replacement, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    h->kind = STROBE_HOOK_NATIVE;
    h->replacement = replacement;
    h->where = word;
    return STROBE_OK;
}

static enum strobe_status restore_native(const struct strobe_hook *h)
{
    void *there = h->replacement;
    return __atomic_compare_exchange_n((void **)h->where, &there, h->original, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED)
               ? STROBE_OK
               : STROBE_EXISTS;
}

/* ---- inline ---- */

enum strobe_status strobe_hook_inline(struct strobe_hook *h, const struct strobe_inline_hooker *hooker, void *target,
                                      void *replacement)
{
    if (h->kind != STROBE_HOOK_NONE)
        return STROBE_EXISTS;
    if (!hooker) {
        errno = ENOSYS;
        return STROBE_UNSUPPORTED;
    }
    int refused = hooker->install(hooker->ctx, target, replacement, &h->original, &h->handle);
    if (refused) {
        errno = refused;
        return STROBE_UNSUPPORTED;
    }
    h->kind = STROBE_HOOK_INLINE;
    h->replacement = replacement;
    h->hooker = hooker;
    return STROBE_OK;
}

static enum strobe_status restore_inline(const struct strobe_hook *h)
{
    int refused = h->hooker->remove(h->hooker->ctx, h->handle);
    if (!refused)
        return STROBE_OK;
    errno = refused;
    return refused == EEXIST ? STROBE_EXISTS : STROBE_IO;
}

/* ---- all ---- */

enum strobe_status strobe_hook_remove(struct strobe_hook *h)
{
    enum strobe_status status = STROBE_OK;
    switch (h->kind) {
    case STROBE_HOOK_NONE: return STROBE_OK;
    case STROBE_HOOK_NATIVE: status = restore_native(h); break;
    case STROBE_HOOK_SLOT: status = strobe_hook_slots_restore(h); break;
    case STROBE_HOOK_INLINE: status = restore_inline(h); break;
    }
    /* `original` stays valid: a call that is under way may use it. */
    if (status == STROBE_OK)
        h->kind = STROBE_HOOK_NONE;
    return status;
}

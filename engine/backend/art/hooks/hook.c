#include "engine/backend/art/hooks/hook.h"

#include "engine/backend/art/hooks/hook_slot.h"
#include "engine/base/error_format.h"

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

static void explain_refusal(const struct strobe_inline_hooker *hooker, struct strobe_hook_request *r)
{
    const char *why = hooker->explain ? hooker->explain(hooker->ctx, r->refused) : NULL;
    if (why)
        strobe_error_set(&r->why, "%s", why);
    else
        strobe_error_set(&r->why, "error %d", r->refused);
}

/* Notes the hooker's answer to one request. */
static void conclude_inline(const struct strobe_inline_hooker *hooker, struct strobe_hook_request *r,
                            const struct strobe_inline_request *answer)
{
    struct strobe_hook *h = r->hook;
    r->refused = answer->refused;
    if (r->refused) {
        explain_refusal(hooker, r);
        return;
    }
    h->kind = STROBE_HOOK_INLINE;
    h->where = r->target;
    h->replacement = r->replacement;
    h->handle = answer->handle;
    h->hooker = hooker;
}

/* Another capture's end could not remove the hook, or the caller asks twice. */
static void keep_inline(struct strobe_hook_request *r)
{
    const struct strobe_hook *h = r->hook;
    bool is_same = h->kind == STROBE_HOOK_INLINE && h->where == r->target && h->replacement == r->replacement;
    r->refused = is_same ? 0 : EEXIST;
    if (!is_same)
        strobe_error_set(&r->why, "it is hooked already");
}

static void install_each(const struct strobe_inline_hooker *hooker, struct strobe_inline_request *asked,
                         struct strobe_hook_request *const *by, size_t count)
{
    if (hooker->install_all)
        hooker->install_all(hooker->ctx, asked, count);
    for (size_t i = 0; i < count; i++) {
        struct strobe_inline_request *a = &asked[i];
        if (!hooker->install_all) /* and its explanation is asked for before the next call */
            a->refused = hooker->install(hooker->ctx, a->target, a->replacement, a->original, &a->handle);
        conclude_inline(hooker, by[i], a);
    }
}

void strobe_hook_inline_all(const struct strobe_inline_hooker *hooker, struct strobe_hook_request *r, size_t count)
{
    struct strobe_inline_request asked[STROBE_HOOK_REQUESTS_MAX];
    struct strobe_hook_request *by[STROBE_HOOK_REQUESTS_MAX];
    size_t n = 0;
    for (struct strobe_hook_request *one = r; one < r + count; one++) {
        if (one->hook->kind != STROBE_HOOK_NONE) {
            keep_inline(one);
            continue;
        }
        asked[n] = (struct strobe_inline_request){
            .target = one->target, .replacement = one->replacement, .original = &one->hook->original};
        by[n++] = one;
    }
    install_each(hooker, asked, by, n);
}

static enum strobe_status restore_inline(const struct strobe_hook *h)
{
    int refused = h->hooker->remove(h->hooker->ctx, h->handle);
    if (!refused)
        return STROBE_OK;
    errno = refused;
    return refused == EEXIST ? STROBE_EXISTS : STROBE_IO;
}

void strobe_hook_remove_all(struct strobe_hook *const *hooks, size_t count)
{
    struct strobe_inline_request asked[STROBE_HOOK_REQUESTS_MAX];
    struct strobe_hook *of[STROBE_HOOK_REQUESTS_MAX];
    const struct strobe_inline_hooker *hooker = NULL;
    size_t n = 0;
    for (struct strobe_hook *const *at = hooks; at < hooks + count; at++) {
        struct strobe_hook *h = *at;
        bool is_inline = h->kind == STROBE_HOOK_INLINE && h->hooker->remove_all;
        if (is_inline && !hooker)
            hooker = h->hooker;
        if (!is_inline || h->hooker != hooker) {
            strobe_hook_remove(h);
            continue;
        }
        asked[n] = (struct strobe_inline_request){.handle = h->handle};
        of[n++] = h;
    }
    if (n)
        hooker->remove_all(hooker->ctx, asked, n);
    for (size_t i = 0; i < n; i++)
        if (!asked[i].refused)
            of[i]->kind = STROBE_HOOK_NONE;
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

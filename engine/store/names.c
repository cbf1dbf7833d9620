#include "engine/store/names.h"

#include <string.h>

struct entry { uint64_t address; uint32_t bytes, flags; };   /* then the text */

static uint64_t entry_bytes(uint64_t text_bytes)
{
    return (sizeof(struct entry) + text_bytes + 7) & ~(uint64_t)7;
}

static uint64_t room(const struct strobe_names *n)
{
    return n->bytes - sizeof *n->head;
}

enum strobe_status strobe_names_add(const struct strobe_names *n, uint64_t address, const char *text, size_t bytes,
                                    uint32_t flags)
{
    if (!n->head)
        return STROBE_UNSUPPORTED;
    if (bytes > STROBE_NAME_BYTES_MAX)
        bytes = STROBE_NAME_BYTES_MAX;
    uint64_t used = strobe_load_relaxed(&n->head->used);
    if (used > room(n) || entry_bytes(bytes) > room(n) - used) {
        strobe_bump(&n->head->refused, 1);
        return STROBE_FULL;
    }
    char *at = (char *)(n->head + 1) + used;
    struct entry e = {address, (uint32_t)bytes, flags};
    memcpy(at, &e, sizeof e);
    memcpy(at + sizeof e, text, bytes);
    strobe_store_release(&n->head->used, used + entry_bytes(bytes));
    return STROBE_OK;
}

bool strobe_names_next(const struct strobe_names *n, uint64_t *at, struct strobe_named_address *out)
{
    if (!n->head)
        return false;
    uint64_t used = strobe_load_acquire(&n->head->used);
    if (used > room(n))
        used = room(n);
    struct entry e;
    if (*at > used || used - *at < sizeof e)
        return false;
    const char *p = (const char *)(n->head + 1) + *at;
    memcpy(&e, p, sizeof e);
    if (e.bytes > STROBE_NAME_BYTES_MAX || entry_bytes(e.bytes) > used - *at)
        return false;
    *out = (struct strobe_named_address){e.address, p + sizeof e, e.bytes, e.flags};
    *at += entry_bytes(e.bytes);
    return true;
}

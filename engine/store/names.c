#include "engine/store/names.h"

#include <string.h>

struct entry {
    uint64_t address;
    uint32_t bytes, flags;
}; /* then struct range (STROBE_NAME_CODE), text */
struct range {
    uint64_t bytes, begin_ticks;
};

static uint64_t entry_bytes(uint64_t length)
{
    return (sizeof(struct entry) + length + 7) & ~(uint64_t)7;
}

uint64_t strobe_names_entry_bytes(uint32_t text_bytes, bool is_code)
{
    uint32_t kept = text_bytes < STROBE_NAME_BYTES_MAX ? text_bytes : STROBE_NAME_BYTES_MAX;
    return entry_bytes(kept + (is_code ? sizeof(struct range) : 0));
}

static uint64_t names_capacity(const struct strobe_names *n)
{
    return n->bytes - sizeof *n->head;
}

static enum strobe_status add_entry(const struct strobe_names *n, struct entry e, const struct range *range,
                                    const char *text, size_t text_bytes)
{
    if (!n->head)
        return STROBE_UNSUPPORTED;
    if (text_bytes > STROBE_NAME_BYTES_MAX)
        text_bytes = STROBE_NAME_BYTES_MAX;
    size_t range_bytes = range ? sizeof *range : 0;
    e.bytes = (uint32_t)(range_bytes + text_bytes);
    uint64_t used = strobe_load_relaxed(&n->head->used);
    if (used > names_capacity(n) || entry_bytes(e.bytes) > names_capacity(n) - used) {
        strobe_bump(&n->head->refused, 1);
        return STROBE_FULL;
    }
    char *at = (char *)(n->head + 1) + used;
    memcpy(at, &e, sizeof e);
    if (range)
        memcpy(at + sizeof e, range, sizeof *range);
    memcpy(at + sizeof e + range_bytes, text, text_bytes);
    strobe_store_release(&n->head->used, used + entry_bytes(e.bytes));
    return STROBE_OK;
}

enum strobe_status strobe_names_add(const struct strobe_names *n, uint64_t address, const char *text, size_t bytes,
                                    uint32_t flags)
{
    return add_entry(n, (struct entry){address, 0, flags}, NULL, text, bytes);
}

enum strobe_status strobe_names_add_code(const struct strobe_names *n, const struct strobe_named_address *code)
{
    struct range range = {code->code_bytes, code->begin_ticks};
    return add_entry(n, (struct entry){code->address, 0, code->flags | STROBE_NAME_CODE}, &range, code->text,
                     code->bytes);
}

static bool next_entry(const struct strobe_names *n, uint64_t *at, struct strobe_named_address *out)
{
    if (!n->head)
        return false;
    uint64_t used = strobe_load_acquire(&n->head->used);
    if (used > names_capacity(n))
        used = names_capacity(n);
    struct entry e;
    if (*at > used || used - *at < sizeof e)
        return false;
    const char *p = (const char *)(n->head + 1) + *at;
    memcpy(&e, p, sizeof e);
    struct range range = {0};
    uint32_t range_bytes = e.flags & STROBE_NAME_CODE ? sizeof range : 0;
    if (e.bytes < range_bytes || e.bytes - range_bytes > STROBE_NAME_BYTES_MAX || entry_bytes(e.bytes) > used - *at)
        return false;
    memcpy(&range, p + sizeof e, range_bytes);
    *out = (struct strobe_named_address){e.address,   p + sizeof e + range_bytes, e.bytes - range_bytes, e.flags,
                                         range.bytes, range.begin_ticks};
    *at += entry_bytes(e.bytes);
    return true;
}

static bool next_of_sort(const struct strobe_names *n, uint64_t *at, uint32_t sort, struct strobe_named_address *out)
{
    for (uint64_t next = *at; next_entry(n, &next, out);)
        if ((out->flags & STROBE_NAME_NOTE) == sort) {
            *at = next;
            return true;
        }
    return false;
}

bool strobe_names_next(const struct strobe_names *n, uint64_t *at, struct strobe_named_address *out)
{
    return next_of_sort(n, at, 0, out);
}

bool strobe_names_next_note(const struct strobe_names *n, uint64_t *at, struct strobe_named_address *out)
{
    return next_of_sort(n, at, STROBE_NAME_NOTE, out);
}

#include "engine/trace/symbols/jitdump.h"

#include "engine/util/idmap.h"

#include <string.h>

enum {
    HEADER_BYTES = 40,
    RECORD_BYTES = 16,
    LOAD_BYTES = 40,
    MOVE_BYTES = 48,
    ID_LOAD = 0,
    ID_MOVE = 1,
    FLAG_TICKS = 1
};
#define MAGIC 0x4a695444u

static uint32_t u32_at(const char *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static uint64_t u64_at(const char *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

struct reader {
    struct strobe_code_list *out;
    struct strobe_idmap by_index; /* code index -> 1 + index in the list; 0 = left out */
};

static enum strobe_status add_code(struct reader *r, const struct strobe_code *code, uint64_t index, uint64_t place)
{
    size_t before = r->out->count;
    int fresh;
    if (strobe_code_list_add(r->out, code, place) != STROBE_OK)
        return STROBE_IO;
    uint32_t *known = strobe_idmap_put(&r->by_index, index, 0, &fresh);
    if (!known)
        return STROBE_IO;
    if (r->out->count > before)
        *known = (uint32_t)r->out->count;
    return STROBE_OK;
}

static enum strobe_status read_load(struct reader *r, const char *content, size_t bytes, uint64_t time, uint64_t place)
{
    const char *name = content + LOAD_BYTES;
    const char *end = bytes > LOAD_BYTES ? memchr(name, 0, bytes - LOAD_BYTES) : NULL;
    if (!end || (size_t)(end - name) > UINT32_MAX) {
        strobe_code_list_add_bad(r->out, place);
        return STROBE_OK;
    }
    struct strobe_code code = {.start = u64_at(content + 16),
                               .bytes = u64_at(content + 24),
                               .begin = time,
                               .name = name,
                               .name_bytes = (uint32_t)(end - name)};
    return add_code(r, &code, u64_at(content + 32), place);
}

static enum strobe_status read_move(struct reader *r, const char *content, size_t bytes, uint64_t time, uint64_t place)
{
    const uint32_t *known = bytes >= MOVE_BYTES ? strobe_idmap_get(&r->by_index, u64_at(content + 40), 0) : NULL;
    if (!known || !*known) {
        strobe_code_list_add_bad(r->out, place);
        return STROBE_OK;
    }
    struct strobe_code code = r->out->at[*known - 1];
    code.start = u64_at(content + 24);
    code.bytes = u64_at(content + 32);
    code.begin = time;
    return add_code(r, &code, u64_at(content + 40), place);
}

static enum strobe_status read_records(struct reader *r, const char *data, size_t bytes, size_t at)
{
    enum strobe_status status = STROBE_OK;
    while (status == STROBE_OK && at < bytes) {
        size_t left = bytes - at, size = left >= RECORD_BYTES ? u32_at(data + at + 4) : 0;
        if (size < RECORD_BYTES || size > left) {
            strobe_code_list_add_bad(r->out, at);
            return STROBE_OK;
        }
        const char *content = data + at + RECORD_BYTES;
        uint64_t time = u64_at(data + at + 8);
        if (u32_at(data + at) == ID_LOAD)
            status = read_load(r, content, size - RECORD_BYTES, time, at);
        else if (u32_at(data + at) == ID_MOVE)
            status = read_move(r, content, size - RECORD_BYTES, time, at);
        at += size;
    }
    return status;
}

enum strobe_status strobe_jitdump_read(const void *data, size_t bytes, struct strobe_jitdump *head,
                                       struct strobe_code_list *out)
{
    const char *p = data;
    *head = (struct strobe_jitdump){0};
    if (bytes < HEADER_BYTES || u32_at(p) != MAGIC || u32_at(p + 4) != 1 || u32_at(p + 8) < HEADER_BYTES ||
        u32_at(p + 8) > bytes)
        return STROBE_BAD_INPUT;
    *head = (struct strobe_jitdump){
        .machine = u32_at(p + 12), .pid = u32_at(p + 20), .counts_ticks = (int)(u64_at(p + 32) & FLAG_TICKS)};
    struct reader r = {.out = out};
    enum strobe_status status = read_records(&r, p, bytes, u32_at(p + 8));
    strobe_idmap_free(&r.by_index);
    return status;
}

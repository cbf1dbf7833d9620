#include "sim/policy/btrace_stacks.h"

#include "engine/util/array.h"
#include "engine/util/idmap.h"

#include <assert.h>
#include <stdlib.h>

static bool btrace_stacks_grow(struct sim_btrace_stacks *s)
{
    if (!strobe_array_reserve(&s->nodes, &s->room, s->count + 2))
        return false;
    if (!s->count)
        s->nodes[s->count++] = (struct sim_btrace_node){0, 0, 0};
    return true;
}

uint32_t sim_btrace_stack(struct sim_btrace_stacks *s, const uint64_t *frames, uint32_t count)
{
    uint32_t node = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert(frames[i]);
        if (!btrace_stacks_grow(s)) {
            s->failed = 1;
            return node;
        }
        const uint32_t *known = strobe_idmap_get(&s->children, node, frames[i]);
        if (known) {
            node = *known;
            continue;
        }
        if (s->limit && s->count > s->limit) {
            s->shortened++;
            return node;
        }
        if (!strobe_idmap_add(&s->children, node, frames[i], (uint32_t)s->count)) {
            s->failed = 1;
            return node;
        }
        s->nodes[s->count] = (struct sim_btrace_node){frames[i], node, i + 1};
        node = (uint32_t)s->count++;
    }
    return node;
}

uint32_t sim_btrace_frames(const struct sim_btrace_stacks *s, uint32_t stack, uint64_t *out)
{
    uint32_t depth = stack ? s->nodes[stack].depth : 0;
    for (uint32_t i = depth; i > 0; i--) {
        out[i - 1] = s->nodes[stack].frame;
        stack = s->nodes[stack].parent;
    }
    return depth;
}

void sim_btrace_stacks_close(struct sim_btrace_stacks *s)
{
    free(s->nodes);
    strobe_idmap_free(&s->children);
    *s = (struct sim_btrace_stacks){.limit = s->limit};
}

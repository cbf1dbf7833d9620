#include "sim/policy/btrace_stacks.h"

#include "engine/base/mix.h"
#include "engine/util/array.h"

#include <assert.h>
#include <stdlib.h>

static size_t btrace_stacks_slot(const struct sim_btrace_stacks *s, uint32_t parent, uint64_t frame)
{
    size_t i = strobe_mix_pair(parent, frame) & s->mask;
    while (s->slots[i] && (s->nodes[s->slots[i]].parent != parent || s->nodes[s->slots[i]].frame != frame))
        i = (i + 1) & s->mask;
    return i;
}

/* Twice the slots, so that at most half of them are taken. */
static bool btrace_stacks_double_slots(struct sim_btrace_stacks *s)
{
    enum { FIRST = 1024 };
    size_t slots = s->slots ? 2 * (s->mask + 1) : FIRST;
    uint32_t *wider = calloc(slots, sizeof *wider);
    if (!wider)
        return false;
    free(s->slots);
    s->slots = wider;
    s->mask = slots - 1;
    for (size_t n = 1; n < s->count; n++)
        s->slots[btrace_stacks_slot(s, s->nodes[n].parent, s->nodes[n].frame)] = (uint32_t)n;
    return true;
}

static bool btrace_stacks_grow(struct sim_btrace_stacks *s)
{
    if (!strobe_array_reserve(&s->nodes, &s->room, s->count + 2))
        return false;
    if (!s->count)
        s->nodes[s->count++] = (struct sim_btrace_node){0, 0, 0};
    return (s->slots && 2 * s->count <= s->mask) || btrace_stacks_double_slots(s);
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
        size_t slot = btrace_stacks_slot(s, node, frames[i]);
        if (!s->slots[slot]) {
            if (s->limit && s->count > s->limit) {
                s->shortened++;
                return node;
            }
            s->nodes[s->count] = (struct sim_btrace_node){frames[i], node, i + 1};
            s->slots[slot] = (uint32_t)s->count++;
        }
        node = s->slots[slot];
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
    free(s->slots);
    *s = (struct sim_btrace_stacks){.limit = s->limit};
}

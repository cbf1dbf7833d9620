#include "sim/runtime/vstack.h"

#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCK_STACKS = 64 };

struct sim_stack_block {
    struct sim_stack_block *next;
    uint8_t *memory;
    struct sim_vthread *owner[BLOCK_STACKS];
    bool taken[BLOCK_STACKS];
};

static const size_t block_bytes = (size_t)BLOCK_STACKS * SIM_STACK_BYTES;
#define FIRST_BLOCK ((uintptr_t)0x200000000000)

uint32_t sim_site_mask(uint64_t bytes)
{
    uint64_t mask = 0;
    while ((mask << 1 | SIM_SITE_BYTES) + SIM_FIRST_SITE + SIM_SITE_BYTES < bytes && mask < 0xfff8)
        mask = mask << 1 | SIM_SITE_BYTES;
    return (uint32_t)mask;
}

/* ---- stacks ---- */

static struct sim_stack_block *stacks_add_block(struct sim_stacks *stacks)
{
    struct sim_stack_block **end = &stacks->blocks;
    uintptr_t place = FIRST_BLOCK;
    for (; *end; end = &(*end)->next)
        place += block_bytes;
    struct sim_stack_block *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    /* The address is only a hint; nothing depends on it except the apparent content of a corrupt stack. */
    b->memory =
        mmap((void *)place, block_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (b->memory == MAP_FAILED) {
        free(b);
        return NULL;
    }
    return *end = b;
}

static bool take_from(struct sim_stack_block *b, struct sim_vthread *v)
{
    for (uint32_t i = 0; i < BLOCK_STACKS; i++) {
        if (b->taken[i])
            continue;
        b->taken[i] = true;
        b->owner[i] = v;
        v->stack_low = b->memory + (size_t)i * SIM_STACK_BYTES;
        v->stack_high = v->stack_low + SIM_STACK_BYTES;
        v->sp = (uint64_t)(uintptr_t)v->stack_high;
        v->fp = 0;
        return true;
    }
    return false;
}

bool sim_stack_take(struct sim_stacks *stacks, struct sim_vthread *v)
{
    for (struct sim_stack_block *b = stacks->blocks; b; b = b->next)
        if (take_from(b, v))
            return true;
    struct sim_stack_block *b = stacks_add_block(stacks);
    return b && take_from(b, v);
}

static struct sim_stack_block *block_of(const struct sim_stacks *stacks, uint64_t address, size_t *index)
{
    for (struct sim_stack_block *b = stacks->blocks; b; b = b->next) {
        uint64_t offset = address - (uint64_t)(uintptr_t)b->memory;
        if (offset < block_bytes) {
            *index = (size_t)(offset / SIM_STACK_BYTES);
            return b;
        }
    }
    return NULL;
}

void sim_stack_give(struct sim_stacks *stacks, struct sim_vthread *v)
{
    size_t i;
    struct sim_stack_block *b = v->stack_low ? block_of(stacks, (uint64_t)(uintptr_t)v->stack_low, &i) : NULL;
    if (b) {
        b->taken[i] = false;
        b->owner[i] = NULL;
    }
    v->stack_low = v->stack_high = NULL;
    free(v->frames);
    v->frames = NULL;
    v->frame_count = v->frame_room = 0;
}

struct sim_vthread *sim_stack_owner(const struct sim_stacks *stacks, uint64_t address)
{
    size_t i;
    const struct sim_stack_block *b = block_of(stacks, address, &i);
    return b ? b->owner[i] : NULL;
}

void sim_stacks_close(struct sim_stacks *stacks)
{
    while (stacks->blocks) {
        struct sim_stack_block *b = stacks->blocks;
        stacks->blocks = b->next;
        munmap(b->memory, block_bytes);
        free(b);
    }
}

/* ---- frames ---- */

bool sim_frames_grow(struct sim_vthread *v)
{
    return strobe_array_reserve(&v->frames, &v->frame_room, v->frame_room + 1);
}

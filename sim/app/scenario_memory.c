#include "sim/app/parser.h"

#include <stdlib.h>
#include <string.h>

/* Texts and values, stored in pieces that never move. */
struct piece {
    struct piece *next;
};
struct sim_scenario_memory {
    struct piece *pieces;
    char *at;
    size_t left;
};

enum { PIECE_BYTES = 1 << 14, ALIGN = 8 };

struct sim_scenario *sim_scenario_new(void)
{
    struct sim_scenario *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->memory = calloc(1, sizeof *s->memory);
    s->blocks = s->memory ? sim_array_grow(NULL, 0, sizeof *s->blocks) : NULL;
    if (!s->blocks) {
        sim_scenario_free(s);
        return NULL;
    }
    s->blocks[0] = (struct sim_block){0, 0};
    s->block_count = 1;
    s->cores = SIM_CORES_DEFAULT;
    strobe_config_default(&s->config);
    return s;
}

void *sim_scenario_take(struct sim_scenario *s, size_t bytes)
{
    struct sim_scenario_memory *m = s->memory;
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (bytes > m->left) {
        size_t room = bytes > PIECE_BYTES ? bytes : PIECE_BYTES;
        struct piece *piece = malloc(sizeof *piece + room);
        if (!piece)
            return NULL;
        piece->next = m->pieces;
        m->pieces = piece;
        m->at = (char *)(piece + 1);
        m->left = room;
    }
    m->at += bytes;
    m->left -= bytes;
    return m->at - bytes;
}

void *sim_array_grow(void *items, uint32_t count, size_t item_bytes)
{
    enum { LEAST = 8 };
    bool is_full = count == 0 || (count >= LEAST && (count & (count - 1)) == 0);
    return is_full ? realloc(items, (count ? (size_t)count * 2 : LEAST) * item_bytes) : items;
}

void sim_scenario_free(struct sim_scenario *s)
{
    if (!s)
        return;
    for (struct piece *p = s->memory ? s->memory->pieces : NULL; p;) {
        struct piece *next = p->next;
        free(p);
        p = next;
    }
    free(s->ops);
    free(s->blocks);
    free(s->arms);
    free(s->images);
    free(s->methods);
    free(s->locks);
    free(s->conds);
    free(s->sems);
    free(s->queues);
    free(s->threads);
    free(s->faults);
    free(s->expects);
    free(s->memory);
    free(s);
}

#include "sim/player/dex/dex_ids.h"

#include <stdlib.h>
#include <string.h>

/* In the order of the return types' descriptors: "I", "Ljava/...", "V", "Z". */
const struct sim_dex_prototype sim_dex_prototypes[SIM_DEX_PROTOS] = {
    [SIM_DEX_STEP] = {"IJ", "I", {"J"}},
    [SIM_DEX_THROWN] = {"LJ", "Ljava/lang/Throwable;", {"J"}},
    [SIM_DEX_METHOD] = {"VJ", "V", {"J"}},
    [SIM_DEX_CAUGHT] = {"ZJL", "Z", {"J", "Ljava/lang/Throwable;"}},
};

/* The format orders strings by UTF-16. Names are ASCII, so the order of bytes is the same. */
static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_dex_ids(const void *a, const void *b)
{
    const struct sim_dex_id *x = a, *y = b;
    int order = strcmp(x->class, y->class);
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order ? order : (int)x->proto - (int)y->proto;
}

static uint32_t sort_unique(const char **list, uint32_t count)
{
    uint32_t kept = 0;
    qsort(list, count, sizeof *list, by_text);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(list[kept - 1], list[i]) != 0)
            list[kept++] = list[i];
    return kept;
}

bool sim_dex_ids_make(struct sim_dex_id *methods, uint32_t count, const char *const *besides, struct sim_dex_ids *out)
{
    enum { OF_PROTOTYPES = SIM_DEX_PROTOS * 4, BESIDES_MAX = 16 };
    size_t room = 2 * (size_t)count + OF_PROTOTYPES + BESIDES_MAX;
    *out = (struct sim_dex_ids){.methods = methods, .method_count = count};
    out->types = calloc(room, sizeof *out->types);
    out->strings = calloc(room * 2, sizeof *out->strings);
    if (!out->types || !out->strings)
        return false;
    qsort(methods, count, sizeof *methods, compare_dex_ids);
    for (uint32_t i = 0; i < count; i++) {
        out->types[out->type_count++] = methods[i].class;
        out->strings[out->string_count++] = methods[i].name;
    }
    for (uint32_t i = 0; i < SIM_DEX_PROTOS; i++) {
        const struct sim_dex_prototype *p = &sim_dex_prototypes[i];
        out->types[out->type_count++] = p->result;
        for (uint32_t k = 0; k < 2 && p->parameters[k]; k++)
            out->types[out->type_count++] = p->parameters[k];
        out->strings[out->string_count++] = p->shorty;
    }
    for (uint32_t i = 0; i < BESIDES_MAX && besides[i]; i++)
        out->types[out->type_count++] = besides[i];
    out->type_count = sort_unique(out->types, out->type_count);
    for (uint32_t i = 0; i < out->type_count; i++)
        out->strings[out->string_count++] = out->types[i];
    out->string_count = sort_unique(out->strings, out->string_count);
    return true;
}

void sim_dex_ids_free(struct sim_dex_ids *ids)
{
    free(ids->strings);
    free(ids->types);
    free(ids->methods);
    *ids = (struct sim_dex_ids){0};
}

static uint32_t dex_text_index(const char **list, uint32_t count, const char *text)
{
    const char **at = bsearch(&text, list, count, sizeof *list, by_text);
    return at ? (uint32_t)(at - list) : UINT32_MAX;
}

uint32_t sim_dex_string(const struct sim_dex_ids *ids, const char *text)
{
    return dex_text_index(ids->strings, ids->string_count, text);
}

uint32_t sim_dex_type(const struct sim_dex_ids *ids, const char *descriptor)
{
    return dex_text_index(ids->types, ids->type_count, descriptor);
}

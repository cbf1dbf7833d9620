/* The lists at the begin of a dex file: strings, types, prototypes, methods. The rest of the file refers to their
 * entries by index. Each list has the order that the format requires. For sim/player/dex only. Allocates. */
#ifndef STROBE_SIM_PLAYER_DEX_DEX_IDS_H
#define STROBE_SIM_PLAYER_DEX_DEX_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All prototypes, in the order of the file's list: by return type, then by parameters. */
enum sim_dex_proto { SIM_DEX_STEP, SIM_DEX_THROWN, SIM_DEX_METHOD, SIM_DEX_CAUGHT, SIM_DEX_PROTOS };
struct sim_dex_prototype {
    const char *shorty, *result, *parameters[2];
};
extern const struct sim_dex_prototype sim_dex_prototypes[SIM_DEX_PROTOS];

struct sim_dex_id {
    const char *class, *name; /* class: a descriptor */
    enum sim_dex_proto proto;
    uint32_t number; /* for the caller's use */
};

struct sim_dex_ids {
    const char **strings, **types;
    struct sim_dex_id *methods;
    uint32_t string_count, type_count, method_count;
};

/* Sorts `methods` (an array by malloc, which *out then owns) and makes the other lists. The lists contain the names of
 * the methods and prototypes and the types in `besides`, an array that ends with NULL. The caller keeps the strings.
 * False: no memory. */
bool sim_dex_ids_make(struct sim_dex_id *methods, uint32_t count, const char *const *besides, struct sim_dex_ids *out);
void sim_dex_ids_free(struct sim_dex_ids *ids);

/* Return the index of an entry, or UINT32_MAX when the list has no such entry. */
uint32_t sim_dex_string(const struct sim_dex_ids *ids, const char *text);
uint32_t sim_dex_type(const struct sim_dex_ids *ids, const char *descriptor);

#endif

/* The lists at the front of a dex file that everything else names by place: strings, types, prototypes, methods, each
 * in the order that the format asks for. For sim/genuine only. Allocates. */
#ifndef STROBE_SIM_PLAYER_DEX_DEX_IDS_H
#define STROBE_SIM_PLAYER_DEX_DEX_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The prototypes there are, in the order of the file's list: by return type, then parameters. */
enum sim_dex_proto { SIM_DEX_STEP, SIM_DEX_THROWN, SIM_DEX_METHOD, SIM_DEX_CAUGHT, SIM_DEX_PROTOS };
struct sim_dex_prototype {
    const char *shorty, *result, *parameters[2];
};
extern const struct sim_dex_prototype sim_dex_prototypes[SIM_DEX_PROTOS];

struct sim_dex_id {
    const char *class, *name; /* class: a descriptor */
    enum sim_dex_proto proto;
    uint32_t number; /* the caller's */
};

struct sim_dex_ids {
    const char **strings, **types;
    struct sim_dex_id *methods;
    uint32_t string_count, type_count, method_count;
};

/* Sorts `methods` (an array by malloc, then owned by *out) and makes the other lists of what they and the prototypes
 * name, and of the types that are given besides (NULL at the end). Strings stay the caller's. False: no memory. */
bool sim_dex_ids_make(struct sim_dex_id *methods, uint32_t count, const char *const *besides, struct sim_dex_ids *out);
void sim_dex_ids_free(struct sim_dex_ids *ids);

/* Places of what is in a list. */
uint32_t sim_dex_string(const struct sim_dex_ids *ids, const char *text);
uint32_t sim_dex_type(const struct sim_dex_ids *ids, const char *descriptor);

#endif

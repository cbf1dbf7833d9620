#include "sim/player/probes/probes.h"

#include <string.h>

static const struct sim_witness *const schemes[] = {&sim_witness_matrix, &sim_witness_rheatrace,
                                                    &sim_witness_rheatrace_main, &sim_witness_btrace2};

__attribute__((visibility("default"))) sim_witness_of_fn sim_witness_of;
const struct sim_witness *sim_witness_of(const char *policy)
{
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (!strcmp(schemes[i]->policy, policy))
            return schemes[i];
    return NULL;
}

#include "sim/player/probes/probes.h"

#include <string.h>

static const struct sim_probe_policy *const probe_policies[] = {
    &sim_probe_policy_matrix, &sim_probe_policy_rheatrace, &sim_probe_policy_rheatrace_main, &sim_probe_policy_btrace2};

__attribute__((visibility("default"))) sim_probe_policy_of_fn sim_probe_policy_of;
const struct sim_probe_policy *sim_probe_policy_of(const char *policy)
{
    for (size_t i = 0; i < sizeof probe_policies / sizeof probe_policies[0]; i++)
        if (!strcmp(probe_policies[i]->policy, policy))
            return probe_policies[i];
    return NULL;
}

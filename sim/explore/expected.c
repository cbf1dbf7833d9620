/* Default options, and the comparison of a result with what the program declares. */
#include "sim/explore/explore.h"

void explore_options_default(struct explore_options *options)
{
    *options = (struct explore_options){
        .memory = EXPLORE_C11,
        .strategy = EXPLORE_EXHAUSTIVE,
        .preemptions = 2,
        .depth = 3,
        .seed = 1,
    };
}

uint32_t explore_size_for(const struct explore_program *program, uint32_t asked)
{
    uint32_t most = program->nightly > program->quick ? program->nightly : program->quick;
    return !asked ? program->quick : asked < most ? asked : most;
}

/* Returns true when only a part of the executions was requested, which need not include a fault. */
static bool is_part(const struct explore_options *options)
{
    return options->strategy != EXPLORE_EXHAUSTIVE || options->executions_max != 0 || options->seconds_max > 0;
}

/* Returns true when the exploration went as far as requested. */
static bool far_enough(const struct explore_options *options, const struct explore_result *result)
{
    bool sampled = options->strategy == EXPLORE_WALK || options->strategy == EXPLORE_PCT;
    return result->complete || sampled || options->executions_max != 0 || options->seconds_max > 0;
}

/* Returns true when the number of executions equals the published one, for strategies that count each once. */
static bool counts_as_published(const struct explore_program *program, const struct explore_options *options,
                                const struct explore_result *result)
{
    bool same = options->memory == EXPLORE_C11 && (!options->size || options->size == program->quick) &&
                options->strategy == EXPLORE_EXHAUSTIVE && !options->spurious && result->complete;
    return !program->executions || !same || result->executions == program->executions;
}

bool explore_as_expected(const struct explore_program *program, const struct explore_options *options,
                         const struct explore_result *result)
{
    uint32_t known = program->faults[options->memory];
    enum explore_fault fault = result->failure.fault;
    if (fault != EXPLORE_FINE)
        return (known & EXPLORE_BIT(fault)) != 0;
    return (known == 0 || is_part(options)) && far_enough(options, result) &&
           counts_as_published(program, options, result);
}

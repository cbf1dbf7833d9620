#include "engine/base/error.h"
#include "engine/capture/guard.h"
#include "engine/capture/thread.h"
#include "sim/kernel/fiber.h"
#include "sim/player/real.h"
#include "sim/player/virtual/posix.h"
#include "sim/player/virtual/virtual.h"
#include "sim/runtime/others.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STACK_BYTES = 16 << 20, SWITCH_NS = 1000, SCHEDULE = 1, COSTS, SCENARIO, SEED, FEWEST };

/* Virtual time after the scenario's end in which player and engine must end. */
#define SPARE_NS UINT64_C(60000000000)

struct played {
    int argc;
    char **argv;
};

static void *virtual_play(void *p)
{
    const struct played *played = p;
    exit(sim_virtual_player(played->argc, played->argv));
}

static bool read_costs(const char *path)
{
    FILE *in = fopen(path, "rb");
    bool whole = in && fread(&sim_virtual_costs, sizeof sim_virtual_costs, 1, in) == 1;
    if (in)
        fclose(in);
    return whole;
}

static int virtual_fail(const char *what, const char *why, int status)
{
    fprintf(stderr, "%s: %s\n", what, why);
    return status;
}

int sim_virtual_child(int argc, char **argv)
{
    struct sim_scenario *scenario;
    struct strobe_error error;
    if (argc < FEWEST)
        return virtual_fail(SIM_VIRTUAL_PLAYER, "expected SCHEDULE COSTS, and what " SIM_REAL_PLAYER " has",
                            SIM_REAL_REFUSED);
    if (!read_costs(argv[COSTS]))
        return virtual_fail(argv[COSTS], "expected costs", SIM_REAL_FAILED);
    if (sim_scenario_read(argv[SCENARIO], &scenario, &error) != STROBE_OK)
        return virtual_fail("scenario", error.text, SIM_REAL_REFUSED);
    struct sim_kernel_options options = {.seed = strtoull(argv[SEED], NULL, 10),
                                         .cores = scenario->cores,
                                         .schedule = (enum sim_schedule)strtoul(argv[SCHEDULE], NULL, 10),
                                         .switch_ns = SWITCH_NS,
                                         .slice_ns = (uint64_t)sim_virtual_costs.slice,
                                         .limit_ns = scenario->duration_ns + SPARE_NS};
    sim_costs_machine(&sim_virtual_costs, &options.machine);
    options.weighs_wakeups = true; /* as CFS, which Android's kernels up to 6.1 have */
    struct played played = {argc - COSTS, argv + COSTS};
    uint32_t busy = scenario->busy;
    sim_scenario_free(scenario);
    sim_fiber_stack_bytes(STACK_BYTES);
    sim_fiber_local(&strobe_local, sizeof strobe_local);
    sim_fiber_local(&strobe_guard_window, sizeof strobe_guard_window);
    sim_virtual_locals();
    if (!sim_kernel_open(&options, NULL) || !sim_others_start(sim_kernel_current, busy) ||
        !sim_posix_start(virtual_play, &played))
        return virtual_fail("memory", "there is none", SIM_REAL_FAILED);
    sim_kernel_run(sim_kernel_current, &error);
    /* The kernel returns only after a failure; otherwise the director ends the process. The engine's exit handlers need
     * a running thread, so they are not called. */
    _exit(virtual_fail("the run came to no end", error.text, SIM_REAL_FAILED));
}

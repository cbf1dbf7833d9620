/* Runs the Mach rules on the lab's fake with virtual threads: contract_mach_virtual [xnu|gnu]. */
#include "engine/base/error.h"
#include "sim/fake/mach/kernel.h"
#include "sim/kernel/fiber.h"
#include "sim/kernel/kernel.h"
#include "sim/player/virtual/posix.h"
#include "tests/contract_mach/fake.h"

#include <stdio.h>

enum { TURN_NS = 1000, SWITCH_NS = 1000, CORES = 2 };

static struct {
    int argc;
    char **argv;
    int status;
} run;

static void work(void)
{
    sim_compute(TURN_NS);
}

static void *check(void *unused)
{
    (void)unused;
    run.status = contract_mach_main(run.argc, run.argv);
    sim_kernel_end(sim_kernel_current);
    return NULL;
}

int main(int argc, char **argv)
{
    struct strobe_error error;
    struct sim_kernel_options options = {
        .seed = 1, .cores = CORES, .switch_ns = SWITCH_NS, .limit_ns = UINT64_C(600000000000)};
    run.argc = argc;
    run.argv = argv;
    contract_mach_work = work;
    sim_fiber_local(fake_thread_local(), sizeof(void *));
    if (!sim_kernel_open(&options, NULL) || !sim_posix_start(check, NULL))
        return 2;
    enum sim_end end = sim_kernel_run(sim_kernel_current, &error);
    if (end == SIM_END_ASKED || end == SIM_END_DONE)
        return run.status;
    printf("FAIL the run: %s\n", error.text);
    return 1;
}

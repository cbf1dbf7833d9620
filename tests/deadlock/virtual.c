/* The same on virtual threads: deadlock_virtual FILE MS. With DEADLOCK_UNGUARDED in the environment the calls are
 * not caught, and have their effect. */
#include "engine/base/error.h"
#include "engine/capture/guard.h"
#include "engine/capture/thread.h"
#include "sim/fake/mach/kernel.h"
#include "sim/kernel/fiber.h"
#include "sim/kernel/kernel.h"
#include "sim/player/virtual/mach/mach.h"
#include "sim/player/virtual/posix.h"
#include "tests/deadlock/window.h"

#include <stdio.h>
#include <stdlib.h>

enum { CORES = 4, SWITCH_NS = 1000, STACK_BYTES = 1 << 20 };

static struct {
    int argc;
    char **argv;
    int status;
} run;

static void *capture(void *unused)
{
    run.status = deadlock_main(run.argc, run.argv);
    sim_kernel_end(sim_kernel_current);
    return unused;
}

int main(int argc, char **argv)
{
    struct strobe_error error;
    struct sim_kernel_options options = {
        .seed = 1, .cores = CORES, .switch_ns = SWITCH_NS, .limit_ns = UINT64_C(60000000000)};
    run.argc = argc;
    run.argv = argv;
    sim_virtual_unguarded = getenv("DEADLOCK_UNGUARDED");
    sim_fiber_stack_bytes(STACK_BYTES);
    sim_fiber_local(fake_thread_local(), sizeof(void *));
    sim_fiber_local(&strobe_local, sizeof strobe_local);
    sim_fiber_local(&strobe_guard_window, sizeof strobe_guard_window);
    if (!sim_kernel_open(&options, NULL) || !sim_posix_start(capture, NULL))
        return 2;
    enum sim_end end = sim_kernel_run(sim_kernel_current, &error);
    if (end == SIM_END_ASKED)
        return run.status;
    puts(error.text);
    fflush(stdout);
    _exit(1); /* the engine's work at an exit needs a thread that runs, and none can run any more */
}

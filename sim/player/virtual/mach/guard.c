/* The guard of the suspended window in virtual time: the engine's calls of what is forbidden come by here (virtual.mk),
 * and the run ends at the first one that a thread makes while it holds another suspended. */
#include "sim/fake/mach/guard/guard.h"

#include "sim/fake/mach/kernel.h"
#include "sim/kernel/kernel.h"
#include "sim/player/virtual/mach/mach.h"
#include "sim/player/virtual/posix.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 64, WHY_BYTES = 192 };

bool sim_virtual_unguarded;

static void caught(const char *call)
{
    char held[MAXTHREADNAMESIZE], why[WHY_BYTES];
    void *frames[FRAMES];
    fake_on->name(fake_mach_held(), held);
    snprintf(why, sizeof why, "window: %s called by %s while %s stands", call, sim_posix_self()->name, held);
    fprintf(stderr, "%s\n", why);
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), 2);
    sim_forbidden(why);
}

void *guard_pass(uint32_t index)
{
    if (!sim_virtual_unguarded && sim_self() && fake_mach_holds())
        caught(guard_names[index]);
    if (guard_targets[index])
        return guard_targets[index];
    fprintf(stderr, "%s: not on this machine\n", guard_names[index]);
    abort();
}

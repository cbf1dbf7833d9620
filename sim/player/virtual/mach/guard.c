/* Guard of the suspended window in virtual time. The engine's calls of forbidden functions pass through guard_pass
 * (virtual.mk). The run ends at the first call that a thread makes while it holds another thread suspended. */
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

static void report_forbidden_call(const char *call)
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
        report_forbidden_call(guard_names[index]);
    if (guard_targets[index])
        return guard_targets[index];
    fprintf(stderr, "%s: not on this machine\n", guard_names[index]);
    abort();
}

/* Starts the engine's backend for Mach with its costs charged. */
#include "sim/player/mach/loader.h"
#include "engine/base/error.h"

#include "engine/backend/mach/events.h"
#include "sim/fake/mach/kernel.h"
#include "sim/kernel/fiber.h"
#include "sim/player/virtual/charge.h"
#include "sim/player/virtual/virtual.h"

void sim_virtual_locals(void)
{
    sim_fiber_local(fake_thread_local(), sizeof(void *));
}

/* Each hooked event calls strobe_mach_thread once. The linker redirects these calls to this function (virtual.mk). */
struct strobe_thread *__real_strobe_mach_thread(uint32_t on, const char *call);
struct strobe_thread *__wrap_strobe_mach_thread(uint32_t on, const char *call);
struct strobe_thread *__wrap_strobe_mach_thread(uint32_t on, const char *call)
{
    struct strobe_thread *t = __real_strobe_mach_thread(on, call);
    if (on != STROBE_OFF)
        sim_virtual_charge(sim_virtual_costs.hook);
    if (t)
        sim_virtual_charge_samples(t);
    return t;
}

static enum strobe_status virtual_mach_begin(const char *session, struct strobe_error *error)
{
    struct strobe_mach_options options = {.session_path = session};
    enum strobe_status status = strobe_mach_start(&options, NULL, error);
    if (status == STROBE_OK)
        sim_virtual_put_costs(&strobe_mach.engine, &strobe_mach.host.host);
    return status;
}

const struct sim_real_mach_loader sim_real_mach_loader = {
    .begin = virtual_mach_begin, .end = strobe_mach_stop, .charged_ns = sim_virtual_charged_ns};

/* The engine, linked, with what its work costs charged; and the runtime's system. */
#include "engine/backend/art/hooks/events.h"
#include "engine/base/error.h"
#include "sim/fake/art/system.h"
#include "sim/kernel/fiber.h"
#include "sim/player/art.h"
#include "sim/player/virtual/charge.h"
#include "sim/player/virtual/posix.h"
#include "sim/player/virtual/virtual.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the runtime ---- */

/* The scenario says how long its collections take; those that the runtime begins for itself take no time. */
static void collecting(void)
{
    const struct sim_actor *a = sim_real_art_acting();
    if (a && a->pause_ns)
        sim_compute(a->pause_ns);
}

static void virtual_prepare_library(void *library)
{
    static struct fake_system system;
    void **(*use)(const struct fake_system *);
    *(void **)&use = dlsym(library, "fake_use_system");
    if (!use) {
        fputs("the runtime's library has no fake_use_system\n", stderr);
        exit(2);
    }
    system = fake_pthreads;
    system.collecting = collecting;
    sim_fiber_local(use(&system), sizeof(void *));
}

/* Its library is not there yet: see prepare. */
void sim_virtual_locals(void) {}

/* ---- the engine ---- */

/* Each event comes by here, once. The linker puts it before strobe_art_thread (virtual.mk). */
struct strobe_thread *__real_strobe_art_thread(uint32_t on);
struct strobe_thread *__wrap_strobe_art_thread(uint32_t on);
struct strobe_thread *__wrap_strobe_art_thread(uint32_t on)
{
    if (on != STROBE_OFF)
        sim_virtual_charge(sim_virtual_costs.hook);
    return __real_strobe_art_thread(on);
}

static enum strobe_status virtual_art_begin(struct strobe_jvm *vm, const struct strobe_art_options *options,
                                            struct strobe_error *error)
{
    enum strobe_status status = strobe_art_start(vm, options, NULL, error);
    if (status == STROBE_OK)
        sim_virtual_put_costs(&strobe_art.engine, &strobe_art.host.linux.host);
    return status;
}

/* ---- NetEase's capture ---- */

/* Each walk comes by here. A pointer that is stored costs no more than one that is compared. */
enum strobe_walk_end __real_strobe_art_walk_methods(struct strobe_art_walk *w, const struct strobe_libart *a,
                                                    void *thread, uint64_t *frames_end, uint32_t max, uint32_t *count);
enum strobe_walk_end __wrap_strobe_art_walk_methods(struct strobe_art_walk *w, const struct strobe_libart *a,
                                                    void *thread, uint64_t *frames_end, uint32_t max, uint32_t *count);
enum strobe_walk_end __wrap_strobe_art_walk_methods(struct strobe_art_walk *w, const struct strobe_libart *a,
                                                    void *thread, uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    enum strobe_walk_end end = __real_strobe_art_walk_methods(w, a, thread, frames_end, max, count);
    sim_virtual_charge(*count * (sim_virtual_costs.unwind_frame + sim_virtual_costs.frame_known));
    return end;
}

static enum strobe_status virtual_netease_begin(struct strobe_jvm *vm, const struct strobe_netease_options *options,
                                                struct strobe_error *error)
{
    enum strobe_status status = strobe_netease_start(vm, options, error);
    struct strobe_netease_sampler *s = strobe_netease_running();
    if (s)
        sim_virtual_put_host_costs(&s->host.linux.host);
    return status;
}

static void virtual_netease_end(void)
{
    strobe_netease_stop(NULL);
}

const struct sim_real_loader sim_real_loader = {.prepare = virtual_prepare_library,
                                                .begin = virtual_art_begin,
                                                .end = strobe_art_stop,
                                                .begin_netease = virtual_netease_begin,
                                                .end_netease = virtual_netease_end,
                                                .charged_ns = sim_virtual_charged_ns};

/* Starts the linked engine with its costs charged, and gives the fake runtime its system. */
#include "engine/backend/art/hooks/events.h"
#include "engine/base/error.h"
#include "sim/fake/art/system.h"
#include "sim/kernel/fiber.h"
#include "sim/player/art.h"
#include "sim/player/real.h"
#include "sim/player/virtual/charge.h"
#include "sim/player/virtual/posix.h"
#include "sim/player/virtual/virtual.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the runtime ---- */

/* Called by the runtime during a collection. A collection of the scenario takes the scenario's time. A collection that
 * the runtime starts takes no time. */
static void spend_collection(void)
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
        exit(SIM_REAL_FAILED);
    }
    system = fake_pthreads;
    system.collecting = spend_collection;
    sim_fiber_local(use(&system), sizeof(void *));
}

/* The runtime's library is not loaded yet; virtual_prepare_library registers its variables. */
void sim_virtual_locals(void) {}

/* ---- the engine ---- */

/* Each hooked event calls strobe_art_thread once. The linker redirects these calls to this function (virtual.mk). */
struct strobe_thread *__real_strobe_art_thread(uint32_t on);
struct strobe_thread *__wrap_strobe_art_thread(uint32_t on);
struct strobe_thread *__wrap_strobe_art_thread(uint32_t on)
{
    if (on != STROBE_OFF)
        sim_virtual_charge(sim_virtual_costs.hook);
    return __real_strobe_art_thread(on);
}

/* The file of a thread's state. Reading it takes about as long as the three system calls, each of which costs what
 * reading the counters costs. */
char __wrap_strobe_linux_thread_state(uint32_t tid);
char __wrap_strobe_linux_thread_state(uint32_t tid)
{
    enum { CALLS = 3 };
    sim_virtual_charge(CALLS * sim_virtual_costs.usage);
    sim_compute(0);
    const struct sim_posix_thread *t = sim_posix_thread_of(tid);
    return !t ? 0 : t->thread->state == SIM_RUNNING || t->thread->state == SIM_READY ? 'R' : 'S';
}

/* The runtime's suspension of a thread in native code, and its end: some locks of the runtime, no signal.
 * strobe-bench-art measures it on Android 11. */
enum { RUNTIME_STOP_NS = 300, RUNTIME_RESUME_NS = 140 };

static enum strobe_status virtual_art_begin(struct strobe_jvm *vm, const struct strobe_art_options *options,
                                            struct strobe_error *error)
{
    enum strobe_status status = strobe_art_start(vm, options, NULL, error);
    if (status == STROBE_OK) {
        sim_virtual_put_costs(&strobe_art.engine, &strobe_art.host.linux.host);
        sim_virtual_put_stop_costs(RUNTIME_STOP_NS, RUNTIME_RESUME_NS);
    }
    return status;
}

/* ---- NetEase's capture ---- */

/* The linker redirects calls of strobe_art_walk_methods to this function. Storing a pointer costs the same as comparing
 * it. */
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
    if (s) {
        sim_virtual_put_host_costs(&s->host.linux.host);
        sim_virtual_put_stop_costs(RUNTIME_STOP_NS, RUNTIME_RESUME_NS);
    }
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

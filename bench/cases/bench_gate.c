/* Hook events that take no sample: while capture is off, and when the gate rejects them, with and without adaptive
 * skipping. They use the same inline functions as the hooks of the preloaded library. */
#include "bench/bench.h"
#include "bench/rig.h"

enum { BATCH = 1000, HOUR_S = 3600 };

static struct strobe_site here(void)
{
    return (struct strobe_site){(uint64_t)(uintptr_t)__builtin_frame_address(0), 1};
}

/* The first check of a hook; see backend/linux/preload/hook.h. */
static STROBE_ALWAYS_INLINE void hook(struct strobe_site site)
{
    uint32_t on = strobe_switched();
    struct strobe_thread *t = strobe_local.thread;
    if (strobe_unlikely(on == STROBE_OFF))
        return;
    if (t)
        strobe_point(t, on, STROBE_KIND_ALLOC, 0, site);
}

static void events(struct gbench_state *s, struct rig *rig)
{
    struct strobe_site site = here();
    strobe_local.thread = rig->thread;
    while (gbench_loop(s))
        for (int i = 0; i < BATCH; i++) {
            hook(site);
            strobe_fence_signal();
        }
    strobe_local.thread = NULL;
}

static void off(struct gbench_state *s, const void *rig)
{
    static strobe_a32 word = STROBE_OFF;
    strobe_a32 *before = strobe_switch;
    strobe_switch = &word;
    events(s, *(struct rig *const *)rig);
    strobe_switch = before;
}

static void gated(struct gbench_state *s, const void *rig)
{
    events(s, *(struct rig *const *)rig);
}

static struct rig *reading, *skipping;

void bench_gate_add(void)
{
    struct strobe_config c = rig_config();
    c.interval_main_ns = (uint64_t)HOUR_S * 1000000000u;
    c.skip_max = 0;
    reading = rig_new(&c);
    c = rig_config();
    skipping = rig_new(&c);
    gbench_add(&(struct gbench_spec){.name = "gate/off", .run = off, .arg = &reading, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "gate/no", .run = gated, .arg = &reading, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "gate/skip", .run = gated, .arg = &skipping, .batch = BATCH});
}

void bench_gate_rows(void)
{
    double clock = gbench_median_ns("floor/clock");
    bench_row_most("hook while capture is off", "ns", gbench_median_ns("gate/off"), 1);
    bench_row_ratio("gate that says no", "ns", gbench_median_ns("gate/no"), "clock read", clock, 1.15);
    bench_row_ratio("gate with adaptive skipping, 1 ms", "ns", gbench_median_ns("gate/skip"), "clock read", clock, 0.3);
}

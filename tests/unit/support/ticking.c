#include "tests/unit/support/ticking.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct rig ticking;
struct strobe_sampler sampler;
struct asked asked;
enum strobe_status keep_says, ring_says;
uint64_t comes_at;
int rests, rouses;

static enum strobe_status keep(void *ctx, uint32_t index, uint32_t tid, uint64_t period_ns, uint32_t taken)
{
    (void)ctx, (void)index, (void)tid, (void)taken;
    asked.keeps++;
    if (period_ns != asked.period_ns) {
        asked.periods++;
        asked.sum_ns += period_ns;
        asked.least_ns = !asked.least_ns || period_ns < asked.least_ns ? period_ns : asked.least_ns;
        asked.most_ns = period_ns > asked.most_ns ? period_ns : asked.most_ns;
    }
    asked.period_ns = period_ns;
    return keep_says;
}

static enum strobe_status ring(void *ctx, uint32_t index, uint32_t tid)
{
    (void)ctx, (void)index, (void)tid;
    asked.rings++;
    return ring_says;
}

static void end(void *ctx, uint32_t index)
{
    (void)ctx, (void)index;
    asked.ends++;
}

static void rest_until(void *ctx, uint64_t deadline, strobe_a32 *word, uint32_t value)
{
    struct rig *r = ctx;
    rests++;
    if (strobe_load_acquire(word) == value && comes_at < deadline) {
        struct strobe_stack_bounds unknown = {0};
        struct strobe_local mine = strobe_local;
        r->now = comes_at;
        assert_non_null(strobe_thread_attach(&r->engine, 2001, false, "new", &unknown));
        strobe_local = mine;
    }
    if (strobe_load_acquire(word) == value)
        r->now = deadline;
}

static void rouse(void *ctx, strobe_a32 *word)
{
    (void)ctx, (void)word;
    rouses++;
}

int ticking_start(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    rig_start(&ticking, &c);
    ticking.host.clock_keep = keep;
    ticking.host.clock_ring = ring;
    ticking.host.clock_end = end;
    ticking.host.rest_until = rest_until;
    ticking.host.rouse = rouse;
    comes_at = UINT64_MAX;
    rests = rouses = 0;
    keep_says = STROBE_OK;
    ring_says = STROBE_UNSUPPORTED;
    memset(&asked, 0, sizeof asked);
    sampler = (struct strobe_sampler){0};
    strobe_sampler_init(&sampler, &ticking.engine, 99);
    rig_stack(&ticking, 3, 0x1000);
    return 0;
}

int ticking_stop(void **state)
{
    (void)state;
    rig_assert_balanced(&ticking);
    rig_stop(&ticking);
    return 0;
}

void tick(uint64_t wall_us, uint64_t cpu_us)
{
    ticking.now += wall_us * US;
    ticking.cpu_ns += cpu_us * US;
    ticking.regs.sp = (uint64_t)(uintptr_t)ticking.stack;
    strobe_sample_interrupted(ticking.thread, &ticking.regs, strobe_load_relaxed(&ticking.thread->rung_cpu_ns) != 0);
}

void pass(uint64_t ms, uint64_t cpu_us)
{
    ticking.now += ms * MS;
    ticking.thread_cpu_ns += cpu_us * US;
    strobe_sampler_pass(&sampler, ticking.now);
}

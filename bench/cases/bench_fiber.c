/* The lab's virtual kernel: the cost of a switch between virtual threads, directly and through the scheduler, beside
 * the C library's swapcontext; and the most frequent calls of a simulated app. */
#include "bench/bench.h"
#include "engine/base/error.h"
#include "sim/kernel/fiber.h"
#include "sim/kernel/kernel.h"

#include <stdlib.h>
#include <ucontext.h>

enum { BATCH = 1000 };

/* The target: 3 million switches per second. */
static const double SWITCH_NS_MOST = 1e9 / 3e6;

/* ---- switches by hand */

static struct sim_fiber outside, other;

static void comes_back(void *arg)
{
    (void)arg;
    for (;;)
        sim_fiber_switch(&other, &outside);
}

static void fiber(struct gbench_state *s, const void *arg)
{
    (void)arg;
    sim_fiber_adopt(&outside);
    if (!sim_fiber_open(&other, comes_back, NULL)) {
        gbench_give_up(s, "no memory for a stack");
        return;
    }
    while (gbench_loop(s))
        for (int i = 0; i < BATCH; i += 2)
            sim_fiber_switch(&outside, &other);
    sim_fiber_close(&other);
}

static ucontext_t here, there;

static void comes_back_by_context(void)
{
    for (;;)
        swapcontext(&there, &here);
}

static void context(struct gbench_state *s, const void *arg)
{
    (void)arg;
    getcontext(&there);
    there.uc_stack.ss_size = SIM_FIBER_STACK_BYTES;
    there.uc_stack.ss_sp = bench_pages(SIM_FIBER_STACK_BYTES);
    makecontext(&there, comes_back_by_context, 0);
    while (gbench_loop(s))
        for (int i = 0; i < BATCH; i += 2)
            swapcontext(&here, &there);
}

/* ---- through the scheduler */

struct act {
    struct gbench_state *state;
    void (*body)(struct act *);
    bool over;
    struct sim_mutex mutex;
};

static void leads(void *arg)
{
    struct act *act = arg;
    act->body(act);
    act->over = true;
}

static void yields(struct act *act)
{
    while (gbench_loop(act->state))
        for (int i = 0; i < BATCH; i += 2)
            sim_yield();
}

static void yields_too(void *arg)
{
    struct act *act = arg;
    while (!act->over)
        sim_yield();
}

static void computes(struct act *act)
{
    while (gbench_loop(act->state))
        for (int i = 0; i < BATCH; i += 2)
            sim_compute(100);
}

static void computes_too(void *arg)
{
    struct act *act = arg;
    while (!act->over)
        sim_compute(100);
}

static void computes_alone(struct act *act)
{
    while (gbench_loop(act->state))
        for (int i = 0; i < BATCH; i++)
            sim_compute(100);
}

static void locks(struct act *act)
{
    while (gbench_loop(act->state))
        for (int i = 0; i < BATCH; i++) {
            sim_mutex_lock(&act->mutex);
            sim_mutex_unlock(&act->mutex);
        }
}

struct play {
    void (*first)(struct act *);
    void (*second)(void *arg);
    uint32_t cores;
};

static void play(struct gbench_state *s, const void *arg)
{
    const struct play *play = arg;
    struct act act = {.state = s, .body = play->first};
    const struct sim_kernel_options options = {.cores = play->cores, .limit_ns = UINT64_MAX};
    struct sim_kernel *k = sim_kernel_open(&options, NULL);
    const struct sim_thread_options first = {.entry = leads, .arg = &act};
    const struct sim_thread_options second = {.entry = play->second, .arg = &act};
    struct strobe_error error;
    if (!k || !sim_thread_start(k, &first) || (play->second && !sim_thread_start(k, &second)))
        abort();
    sim_kernel_run(k, &error);
    sim_kernel_close(k);
}

static const struct play by_yield = {yields, yields_too, 1}, by_compute = {computes, computes_too, 2};
static const struct play alone = {computes_alone, NULL, 1}, locked = {locks, NULL, 1};

void bench_fiber_add(void)
{
    gbench_add(&(struct gbench_spec){.name = "fiber/switch", .run = fiber, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "fiber/swapcontext", .run = context, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "fiber/yield", .run = play, .arg = &by_yield, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "fiber/compute", .run = play, .arg = &by_compute, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "fiber/compute_alone", .run = play, .arg = &alone, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "fiber/lock", .run = play, .arg = &locked, .batch = BATCH});
}

void bench_fiber_rows(void)
{
    bench_row_ratio("switch of fibers by hand", "ns", gbench_median_ns("fiber/switch"), "swapcontext",
                    gbench_median_ns("fiber/swapcontext"), 0.1);
    bench_row_most("switch of virtual threads: yield", "ns", gbench_median_ns("fiber/yield"), SWITCH_NS_MOST);
    bench_row_most("switch of virtual threads: compute in turn", "ns", gbench_median_ns("fiber/compute"),
                   SWITCH_NS_MOST);
    bench_row_note("compute, nothing else happens until then", "ns", gbench_median_ns("fiber/compute_alone"));
    bench_row_note("lock and unlock, free", "ns", gbench_median_ns("fiber/lock"));
}

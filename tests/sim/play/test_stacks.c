/* Virtual stacks are bytes in memory. At each point where a thread is stopped, the engine's unwinder finds from
 * registers and bytes the path of methods that the player knows (S-43). takes: 3 s */
#include "engine/base/error.h"
#include "engine/capture/engine.h"
#include "tests/sim/support/played.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { COPY_BYTES = 1 << 16, DEPTH_MAX = 4096 };
enum where { AT_START, AFTER_PUSH, IN_BODY, AT_RETURN, IN_WAIT, PLACES };

/* A tracer that only stops threads at random times and compares their stacks. */
static struct prober {
    struct sim_tracer tracer;
    struct sim_run *run;
    struct strobe_host host;
    struct sim_random random;
    uint64_t stops, wrong, by_place[PLACES], frameless[PLACES], lost_caller;
    uint8_t copy[COPY_BYTES];
    uint64_t frames[DEPTH_MAX];
} prober;

static enum strobe_status read_memory(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    return sim_run_read(ctx, address, out, bytes, copied);
}

static enum where place_of(const struct sim_vthread *v, const struct strobe_regs *r)
{
    uint32_t method = sim_run_method_at(prober.run, r->pc);
    if (sim_wait_kind(method))
        return IN_WAIT;
    const struct sim_method *m = &prober.run->scenario->methods[method];
    uint64_t offset = r->pc - m->address;
    (void)v;
    return offset == 0 ? AT_START : offset == 1 ? AFTER_PUSH : offset == m->bytes - 1 ? AT_RETURN : IN_BODY;
}

/* Compares the frames that the unwinder found, outermost first, with the player's. `skip`: the player's frame next to
 * the innermost is missing in `found`. */
static bool same_path(const struct sim_vthread *v, const uint64_t *found, uint32_t count, bool skip)
{
    if (count != v->frame_count - skip)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = skip && i + 1 == count ? i + 1 : i;
        if (sim_run_method_at(prober.run, found[i] - 1) != v->frames[at].method)
            return false;
    }
    return true;
}

static void probe(const struct sim_vthread *v)
{
    struct strobe_regs regs;
    size_t copied = 0;
    uint32_t count = 0;
    if (!v->frame_count)
        return;
    sim_run_registers(v, &regs);
    assert_int_equal(sim_run_read(prober.run, regs.sp, prober.copy, COPY_BYTES, &copied), STROBE_OK);
    struct strobe_window w = {regs.sp, regs.sp + copied, (uint64_t)(uintptr_t)prober.copy - regs.sp, 0};
    uint64_t *end = prober.frames + DEPTH_MAX;
    enum strobe_walk_end how = strobe_unwinder_fp.copied(&prober.host, &regs, &w, end, DEPTH_MAX, &count);
    enum where place = place_of(v, &regs);
    uint32_t innermost = v->frames[v->frame_count - 1].method;
    bool frameless =
        innermost < prober.run->scenario->method_count && prober.run->scenario->methods[innermost].frameless;
    prober.stops++;
    prober.by_place[place] += !frameless;
    prober.frameless[place] += frameless;
    bool whole = how == STROBE_WALK_ROOT && same_path(v, end - count, count, false);
    if (frameless && !whole && same_path(v, end - count, count, true))
        prober.lost_caller++;
    else
        prober.wrong += !whole;
}

static void run_prober(void *arg)
{
    struct sim_run *run = arg;
    for (;;) {
        sim_sleep_until(sim_now() + 1 + sim_random_below(&prober.random, 20000));
        if (!run->thread_count)
            continue;
        struct sim_vthread *v = run->threads[sim_random_below(&prober.random, run->thread_count)];
        if (v->ended || sim_stop(v->thread, SIM_STOP_AT_ONCE, 0) != STROBE_OK)
            continue;
        probe(v);
        sim_continue(v->thread);
    }
}

static enum strobe_status start(struct sim_tracer *t, struct sim_run *run)
{
    struct sim_thread_options options = {
        .name = "prober", .tid = SIM_SAMPLER_TID, .realtime = true, .daemon = true, .entry = run_prober, .arg = run};
    (void)t;
    prober.run = run;
    prober.host = (struct strobe_host){.read = read_memory, .ctx = run};
    return sim_thread_start(run->kernel, &options) ? STROBE_OK : STROBE_IO;
}

static enum strobe_status prober_reconstruct(struct sim_tracer *t, struct sim_run *run, struct sim_tracks *out,
                                             struct strobe_error *error)
{
    (void)t, (void)run, (void)out, (void)error;
    return STROBE_OK;
}

static void close_prober(struct sim_tracer *t)
{
    (void)t;
}

static void probe_all(const char *text, uint64_t seed)
{
    struct played p;
    struct sim_run_options options = {.seed = seed};
    prober.tracer = (struct sim_tracer){
        .start = start, .reconstruct = prober_reconstruct, .close = close_prober, .policy = "prober"};
    prober.random = sim_random_seed(seed, 99);
    play_as(&p, text, &prober.tracer, &options);
    played_close(&p);
}

static void forget(void)
{
    prober = (struct prober){0};
}

/* The methods are so short that stops often fall into prologues and epilogues. */
static void the_unwinder_finds_the_players_path_wherever_a_thread_is_stopped(void **state)
{
    (void)state;
    static const char app[] =
        "scenario s \"\"\nduration 40ms\ncores 4\nmutex m\nimage a.so {\n"
        "method tiny { compute 5ns..9ns }\n"
        "method wide frame 256 { compute 6ns; call tiny; compute 4ns }\n"
        "method deep { recurse wide 1..30; compute 5ns }\n"
        "method fails frame 64 { call tiny; recurse raise 1..9 }\nmethod raise { compute 7ns; throw }\n"
        "method safe { try { call fails } catch { compute 20ns }; compute 6ns }\n"
        "method waits { lock m { compute 300ns }; sleep exp(2us) }\n"
        "method top { forever { choose { 4 { call deep } 2 { call safe } 1 { call waits } }; compute 5ns } }\n}\n"
        "thread main main run top\nthread other x5 run top\n";
    forget();
    for (uint64_t seed = 1; seed <= 3; seed++)
        probe_all(app, seed);
    assert_int_equal(prober.wrong, 0);
    assert_int_equal(prober.lost_caller, 0);
    assert_true(prober.stops > 5000);
    for (int place = 0; place < PLACES; place++)
        if (prober.by_place[place] < 20)
            fail_msg("place %d was met %llu times", place, (unsigned long long)prober.by_place[place]);
}

#define LEAVES(kind)                                                                                                   \
    "scenario s \"\"\nduration 40ms\ncores 2\nimage a.so " kind " {\n"                                                 \
    "method leaf frameless { compute 6ns..10ns }\nmethod mid { call leaf; compute 5ns; call leaf }\n"                  \
    "method top { forever { call mid; compute 5ns } }\n}\nthread main main run top\n"

/* Native code uses direct calls, so the unwinder can verify the return address on top of the stack. */
static void a_frameless_leaf_that_is_called_directly_keeps_its_caller_S43(void **state)
{
    (void)state;
    forget();
    probe_all(LEAVES(""), 3);
    assert_int_equal(prober.wrong, 0);
    assert_true(prober.frameless[IN_BODY] > 100 && prober.frameless[AT_RETURN] > 100);
    assert_int_equal(prober.lost_caller, 0);
}

/* Managed code calls through cells, which contain the target of the call. */
static void a_frameless_leaf_that_is_called_through_a_cell_keeps_its_caller_S43(void **state)
{
    (void)state;
    forget();
    probe_all(LEAVES("managed"), 3);
    assert_int_equal(prober.wrong, 0);
    assert_true(prober.frameless[IN_BODY] > 100 && prober.frameless[AT_RETURN] > 100);
    assert_int_equal(prober.lost_caller, 0);
}

static void unmapped_memory_is_not_read(void **state)
{
    (void)state;
    struct played p;
    struct sim_run_options options = {.seed = 1};
    uint8_t bytes[16];
    size_t copied = 9;
    play_as(&p,
            "scenario s \"\"\nduration 1ms\ncores 1\nimage a.so {\nmethod f { compute 2us }\n}\n"
            "thread main main run f\n",
            NULL, &options);
    const struct sim_method *f = &p.scenario->methods[0];
    assert_int_equal(sim_run_read(&p.run, 8, bytes, sizeof bytes, &copied), STROBE_UNREADABLE);
    assert_int_equal(copied, 0);
    /* The thread has ended, and its stack is unmapped. */
    assert_int_equal(sim_run_read(&p.run, UINT64_C(0x200000000000) + (1 << 20) - 64, bytes, sizeof bytes, &copied),
                     STROBE_UNREADABLE);
    /* Code can be read up to its end. */
    assert_int_equal(sim_run_read(&p.run, f->address + f->bytes - 2, bytes, 2, &copied), STROBE_OK);
    assert_int_equal(copied, 2);
    assert_int_equal(bytes[0], 0x5d);
    assert_int_equal(bytes[1], 0xc3);
    played_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_unwinder_finds_the_players_path_wherever_a_thread_is_stopped),
        cmocka_unit_test(a_frameless_leaf_that_is_called_directly_keeps_its_caller_S43),
        cmocka_unit_test(a_frameless_leaf_that_is_called_through_a_cell_keeps_its_caller_S43),
        cmocka_unit_test(unmapped_memory_is_not_read),
    };
    return cmocka_run_group_tests_name("stacks", tests, NULL, NULL);
}

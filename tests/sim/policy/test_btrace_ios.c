/* The policy btrace-ios reproduces the failures of btrace 3.0 that were observed on iOS: those of properties S-n, and
 * those of its trace builder with hand-made rows. */
#include "sim/policy/btrace_ios.h"
#include "sim/policy/btrace_ios_store.h"
#include "sim/policy/btrace_ios_trace.h"
#include "tests/sim/support/played.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

enum { TID = 5, MS_TICKS = 100 };

/* ---- hand-made rows */

static struct sim_btrace_ios_store store;
static struct sim_tracks tracks;

static int no_rows(void **state)
{
    (void)state;
    sim_btrace_ios_store_open(&store, 1 * MS, 1 * MS);
    sim_tracks_open(&tracks);
    return 0;
}

static int drop_rows(void **state)
{
    (void)state;
    sim_btrace_ios_store_close(&store);
    sim_tracks_close(&tracks);
    return 0;
}

/* Returns the id of a stack, outermost frame first. A letter is a method and its address; '-' has no symbol. */
static uint32_t stack(const char *letters)
{
    uint64_t frames[32];
    uint32_t count = 0;
    for (; *letters; letters++)
        frames[count++] = (uint64_t)*letters;
    return sim_btrace_stack(&store.stacks, frames, count);
}

static struct sim_btrace_row rows[16];
static size_t row_count;

/* Adds a row. Times are in ticks of 10 us. */
static void row(enum sim_btrace_table table, uint32_t start, uint32_t end, uint32_t cpu_start, uint32_t cpu_end,
                const char *letters)
{
    rows[row_count++] = (struct sim_btrace_row){start, end, cpu_start, cpu_end, TID, stack(letters), table, 0};
}

static void point(uint32_t time, uint32_t cpu, const char *letters)
{
    row(SIM_BTRACE_CPU, time, time, cpu, cpu, letters);
}

static uint32_t method_at(const void *ctx, uint64_t address)
{
    (void)ctx;
    return address == '-' ? SIM_HOOK_METHOD : (uint32_t)(address - 'A');
}

static const char *unnamed(const void *ctx, uint32_t tid)
{
    (void)ctx;
    (void)tid;
    return "thread";
}

static void build(void)
{
    static struct sim_method methods[] = {{.name = "A"}, {.name = "B"}, {.name = "C"}, {.name = "D"}};
    static const struct sim_scenario scenario = {.methods = methods, .method_count = 4};
    struct sim_btrace_ios_dump dump = {.rows = rows,
                                       .count = row_count,
                                       .stacks = &store.stacks,
                                       .scenario = &scenario,
                                       .method_at = method_at,
                                       .thread_name = unnamed};
    assert_int_equal(sim_btrace_ios_build(&dump, &tracks), STROBE_OK);
    row_count = 0;
}

static void s55_a_thread_whose_cpu_is_one_tick_ahead_is_left_out(void **state)
{
    (void)state;
    point(100, 0, "A");
    point(200, 101, "A");
    build();
    assert_int_equal(tracks.track_count, 0);
    point(100, 0, "A");
    point(200, 100, "A");
    build();
    assert_int_equal(tracks.track_count, 1);
}

static void s51_equal_stacks_five_seconds_apart_are_one_slice(void **state)
{
    (void)state;
    point(100, 0, "AB");
    point(500100, 1, "AB");
    build();
    assert_string_equal(tracks_text(&tracks, TID, MS), "1 A  1 B  5001 .  5001 .");
}

static void s52_a_single_sample_is_invisible(void **state)
{
    (void)state;
    point(100, 0, "AB");
    build();
    assert_string_equal(tracks_text(&tracks, TID, US), "");
}

static void s56_of_two_samples_in_one_tick_one_is_lost(void **state)
{
    (void)state;
    point(100, 0, "A");
    point(200, 50, "AB");
    row(SIM_BTRACE_DATE, 200, 200, 50, 50, "AC");
    point(300, 50, "A");
    build();
    assert_int_equal(calls_of(&tracks, TID, "B"), 0);
    assert_int_equal(calls_of(&tracks, TID, "C"), 1);
}

static void samples_in_one_tick_are_distinguished_by_their_cpu_time(void **state)
{
    (void)state;
    point(100, 0, "A");
    point(200, 50, "AB");
    row(SIM_BTRACE_DATE, 200, 200, 60, 60, "AC");
    point(300, 60, "A");
    build();
    assert_string_equal(tracks_text(&tracks, TID, 10 * US), "100 A  200 B  210 .  210 C  300 .  300 .");
}

static void a_point_within_a_span_splits_it(void **state)
{
    (void)state;
    row(SIM_BTRACE_INTERVAL, 100, 200, 0, 100, "AB");
    row(SIM_BTRACE_MEM, 150, 150, 50, 50, "AC");
    build();
    assert_string_equal(tracks_text(&tracks, TID, US),
                        "1000 A  1000 B  1500 .  1500 C  1501 .  1501 B  2000 .  2000 .");
}

static void a_leaf_lasts_at_most_1_ms_longer_than_it_was_seen(void **state)
{
    (void)state;
    point(100, 0, "AB");
    point(1100, 10, "AC");
    point(1150, 20, "A");
    build();
    assert_string_equal(tracks_text(&tracks, TID, US), "1000 A  1000 B  2000 .  11000 C  11500 .  11500 .");
}

static void s57_frames_without_symbol_are_left_out(void **state)
{
    (void)state;
    point(100, 0, "A-B");
    point(150, 0, "-");
    point(200, 0, "AB");
    build();
    assert_string_equal(tracks_text(&tracks, TID, US), "1000 A  1000 B  2000 .  2000 .");
}

/* ---- rings and stacks */

static bool put(enum sim_btrace_table table, uint32_t thread, uint64_t time_ns, uint32_t depth, uint64_t leaf)
{
    uint64_t frames[SIM_BTRACE_IOS_DEPTH];
    for (uint32_t i = 0; i < depth; i++)
        frames[i] = i ? 'A' : leaf;
    struct sim_btrace_item item = {.time_ns = time_ns, .tid = thread, .thread = thread, .table = table};
    return sim_btrace_ios_put(&store, item, frames, depth);
}

static void s14_a_full_ring_drops_the_newest(void **state)
{
    (void)state;
    uint64_t fit = store.ring_bytes[SIM_BTRACE_CPU] / (8 + 24 + 8 * 192);
    for (uint64_t i = 0; i < fit + 100; i++)
        assert_true(put(SIM_BTRACE_CPU, 1, i * MS, 192, 'B') == (i < fit));
    assert_int_equal(store.dropped, 100);
    sim_btrace_ios_drain(&store);
    assert_int_equal(store.rows[store.row_count - 1].end, (fit - 1) * MS_TICKS);
    assert_true(put(SIM_BTRACE_CPU, 1, fit * MS, 192, 'B'));
}

static void s15_of_32_sub_buffers_four_are_chosen(void **state)
{
    (void)state;
    bool chosen[SIM_BTRACE_SUB_BUFFERS] = {false};
    uint32_t count = 0;
    for (uint32_t depth = 1; depth <= 64; depth++)
        for (uint32_t thread = 0; thread < 5; thread++)
            put(SIM_BTRACE_MEM, thread, depth * US, depth, 'B');
    for (size_t i = 0; i < store.item_count; i++)
        chosen[store.items[i].ring % SIM_BTRACE_SUB_BUFFERS] = true;
    for (uint32_t i = 0; i < SIM_BTRACE_SUB_BUFFERS; i++)
        count += chosen[i];
    assert_int_equal(count, 4);
    assert_true(chosen[4] && chosen[12] && chosen[20] && chosen[28]);
}

/* Stacks of 32 frames with a common root: 33,825 of them fit. */
static void s31_beyond_2_to_the_20_nodes_stacks_are_named_by_a_part_of_them(void **state)
{
    (void)state;
    enum { STACKS = 40000, DEEP = 32 };
    uint64_t frames[DEEP] = {1};
    uint32_t root = sim_btrace_stack(&store.stacks, frames, 1), wrong = 0;
    for (uint32_t i = 0; i < STACKS; i++) {
        for (uint32_t f = 1; f < DEEP; f++)
            frames[f] = 2 + (uint64_t)i * DEEP + f;
        wrong += sim_btrace_stack(&store.stacks, frames, DEEP) == root;
    }
    assert_int_equal(store.stacks.count - 1, 1 << 20);
    assert_int_equal(wrong, STACKS - ((1 << 20) - 1) / (DEEP - 1));
}

static void samples_merge_within_a_drain_only(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 3; i++) {
        put(SIM_BTRACE_CPU, 1, i * MS, 2, 'B');
        put(SIM_BTRACE_DATE, 1, i * MS + 500 * US, 2, 'C');
    }
    sim_btrace_ios_drain(&store);
    assert_int_equal(store.row_count, 4);
    assert_int_equal(store.rows[0].table, SIM_BTRACE_INTERVAL);
    assert_int_equal(store.rows[0].end - store.rows[0].start, 2 * MS_TICKS);
    put(SIM_BTRACE_CPU, 1, 4 * MS, 2, 'B');
    sim_btrace_ios_drain(&store);
    assert_int_equal(store.row_count, 5);
    assert_int_equal(store.stored, 7);
    assert_int_equal(sim_btrace_ios_bytes(&store), 28 + 4 * 20 + 3 * 16);
}

static void s19_time_wraps_before_twelve_hours(void **state)
{
    (void)state;
    uint64_t wrap_ns = (UINT64_C(1) << 32) * SIM_BTRACE_TICK_NS;
    assert_in_range(wrap_ns / 1000000000, 11 * 3600 + 55 * 60, 12 * 3600);
    put(SIM_BTRACE_CPU, 1, wrap_ns + 5 * MS, 2, 'B');
    sim_btrace_ios_drain(&store);
    assert_int_equal(store.rows[0].start, 5 * MS_TICKS);
}

/* ---- scenarios */

static struct played p;

static void played(const char *text)
{
    play(&p, text, sim_policy_btrace_ios(), NULL);
}

static void played_with_memory(const char *text, uint32_t interval, uint64_t period_ns)
{
    struct sim_btrace_ios_options options = {.memory_interval = interval, .memory_period_ns = period_ns};
    play(&p, text, sim_btrace_ios_open(&options), NULL);
}

static int end_played(void **state)
{
    (void)state;
    played_close(&p);
    return 0;
}

static void work_without_hooks_is_seen_each_millisecond(void **state)
{
    (void)state;
    played("scenario cpu \"work\"\nduration 1s\ncores 4\nimage app { method Math.run { compute 5ms }\n"
           "method Rest.run { compute 5ms }\n"
           "method Main.run { sleep 20us; repeat 50 { call Math.run; call Rest.run } } }\n"
           "thread main main run Main.run\n");
    assert_in_range(p.reconstruction.samples, 400, 510);
    assert_in_range(time_in(&p.reconstruction, 1, "Math.run"), 240 * MS, 260 * MS);
}

static void s3_of_a_deep_stack_the_root_is_lost(void **state)
{
    (void)state;
    played("scenario deep \"deep\"\nduration 1s\nimage app { method Deep.run { compute 5ms }\n"
           "method Main.run { sleep 20us; recurse Deep.run 193 } }\nthread main main run Main.run\n");
    assert_int_equal(calls_of(&p.reconstruction, 1, "Main.run"), 0);
    assert_int_equal(calls_of(&p.reconstruction, 1, "Deep.run"), 192);
}

static void s5_a_burst_after_the_refresh_is_not_seen(void **state)
{
    (void)state;
    played("scenario burst \"burst\"\nduration 590ms\ncores 4\nimage app { method Burst.run { compute 200ms }\n"
           "method Worker.run { sleep 310ms; call Burst.run; sleep 1s }\nmethod Main.run { sleep 1s } }\n"
           "thread main main run Main.run\nthread worker run Worker.run\n");
    assert_in_range(time_in(&p.run.truth, 2, "Burst.run"), 200 * MS, 201 * MS);
    assert_int_equal(calls_of(&p.reconstruction, 2, "Burst.run"), 0);
}

static const char hooked[] = "scenario hooks \"hooks\"\nduration 1s\ncores 4\n"
                             "image app { method Leaf.run { compute 90us }\n"
                             "method Site.run { alloc 16; compute 10us }\n"
                             "method Main.run { forever { call Leaf.run; call Site.run } } }\n"
                             "thread main main run Main.run\n";

static double leaf_share(void)
{
    return (double)time_in(&p.reconstruction, 1, "Leaf.run") / (double)time_in(&p.reconstruction, 1, "Main.run");
}

/* The leaf's true share of the time is nine tenths. */
static void s6_hooks_take_the_budget_from_the_sampler(void **state)
{
    (void)state;
    played_with_memory(hooked, 1, 1 * MS);
    assert_true(leaf_share() < 0.3);
}

static void s6_with_a_period_of_0_nothing_is_left_for_it(void **state)
{
    (void)state;
    played_with_memory(hooked, 1, 0);
    assert_true(leaf_share() < 0.01);
}

static void few_addresses_count(void **state)
{
    (void)state;
    played_with_memory(hooked, 4096, 0);
    assert_in_range(p.reconstruction.samples, 900, 1010);
}

static void s8_the_time_of_a_pass_adds_to_the_period(void **state)
{
    (void)state;
    struct sim_costs costs = {.look = 50000};
    play(&p,
         "scenario pass \"pass\"\nduration 1s\ncores 4\nimage app { method Main.run { sleep 20us; compute 1s }\n"
         "method Idle.run { sleep 2s } }\nthread main main run Main.run\nthread idle x99 run Idle.run\n",
         sim_policy_btrace_ios(), &costs);
    assert_non_null(track_of(&p.reconstruction, 1));
    assert_in_range(track_of(&p.reconstruction, 1)->samples, 160, 170);
}

static void main_s_wait_for_a_lock_is_shown_without_wait_and_waker(void **state)
{
    (void)state;
    played("scenario lock \"lock\"\nduration 1s\ncores 4\nmutex m\nimage app {\n"
           "method Hold.run { lock m { compute 9ms } }\n"
           "method Main.run { compute 1ms; lock m { compute 1ms }; compute 1ms } }\n"
           "thread main main run Main.run\nthread other run Hold.run\n");
    const struct sim_track *truth = track_of(&p.run.truth, 1), *claim = track_of(&p.reconstruction, 1);
    assert_int_equal(truth->wait_count, 1);
    assert_int_equal(p.run.truth.tracks[truth->waits[0].waker].tid, 2);
    assert_non_null(claim);
    assert_int_equal(claim->wait_count, 0);
}

static void main_s_wait_is_sampled_at_both_ends(void **state)
{
    (void)state;
    played("scenario lock \"lock\"\nduration 20ms\ncores 4\nmutex m\nimage app {\n"
           "method Hold.run { lock m { compute 9ms } }\nmethod Lock.take { lock m { } }\n"
           "method Main.run { compute 1500us; call Lock.take; compute 5ms } }\n"
           "thread main main run Main.run\nthread other run Hold.run\n");
    assert_non_null(strstr(tracks_text(&p.reconstruction, 1, 100 * US), "15 Lock.take"));
}

static void a_waiting_thread_is_sampled_at_each_refresh(void **state)
{
    (void)state;
    played("scenario idle \"idle\"\nduration 950ms\ncores 4\nimage app { method Idle.run { sleep 2s } }\n"
           "thread main main run Idle.run\nthread idle run Idle.run\n");
    assert_int_equal(track_of(&p.reconstruction, 2)->samples, 4);
    assert_in_range(track_of(&p.reconstruction, 1)->samples, 30, 33);
}

/* In nine of ten samples the thread sleeps. */
static void a_waiting_thread_that_used_10_us_is_sampled(void **state)
{
    (void)state;
    played("scenario brief \"brief\"\nduration 900ms\ncores 4\nimage app {\n"
           "method Brief.run { forever { compute 20us; sleep 187us } }\n"
           "method Briefer.run { forever { compute 1us; sleep 206us } }\nmethod Main.run { sleep 1s } }\n"
           "thread main main run Main.run\nthread brief run Brief.run\nthread briefer run Briefer.run\n");
    assert_in_range(track_of(&p.reconstruction, 2)->samples, 800, 900);
    assert_in_range(track_of(&p.reconstruction, 3)->samples, 1, 500);
}

/* Returns the number of samples of the holder of main's lock, when another thread takes a different lock at this time.
 * */
static uint64_t samples_of_holder(const char *at)
{
    char text[1024];
    snprintf(text, sizeof text,
             "scenario lock \"lock\"\nduration 1s\ncores 4\nmutex m\nmutex spare\nimage app {\n"
             "method Hold.run { lock m { compute 9100us } }\n"
             "method Bystander.run { sleep %s; lock spare { compute 10us } }\n"
             "method Main.run { compute 1ms; lock m { compute 1ms } } }\n"
             "thread main main run Main.run\nthread holder run Hold.run\n"
             "thread bystander run Bystander.run\n",
             at);
    played(text);
    uint64_t samples = track_of(&p.reconstruction, 2)->samples;
    played_close(&p);
    return samples;
}

static void s76_any_lock_of_any_thread_hides_the_waker_of_main(void **state)
{
    (void)state;
    uint64_t before = samples_of_holder("500us"), meanwhile = samples_of_holder("5500us");
    assert_int_equal(before, meanwhile + 1);
}

static void threads_that_share_a_tid_share_a_track(void **state)
{
    (void)state;
    played("scenario reuse \"reuse\"\nduration 1s\ncores 4\nimage app { method Short.run { compute 20ms }\n"
           "method Main.run { spawn short; join short; spawn short; join short } }\n"
           "thread main main run Main.run\nthread short x0 tid 9 reuse_tid run Short.run\n");
    uint32_t claimed = 0, real = 0;
    for (size_t i = 0; i < p.reconstruction.track_count; i++)
        claimed += p.reconstruction.tracks[i].tid == 9;
    for (size_t i = 0; i < p.run.truth.track_count; i++)
        real += p.run.truth.tracks[i].tid == 9;
    assert_int_equal(real, 2);
    assert_int_equal(claimed, 1);
}

static void a_hook_costs_what_its_parts_cost(void **state)
{
    (void)state;
    struct sim_costs costs = {.hook = 1, .clock = 10, .thread_clock = 100, .sample = 1000, .frame_known = 10000};
    play(&p,
         "scenario costs \"costs\"\nduration 100ms\ncores 4\nmutex m\nsemaphore s 1\nimage app {\n"
         "method Leaf.run { lock m { }; clock; acquire s; sleep 5ms; clock }\n"
         "method Main.run { call Leaf.run } }\nthread main main run Main.run\n",
         sim_policy_btrace_ios(), &costs);
    uint64_t sampled = 100 + 1000 + 2 * 10000, lock = 1 + 10 + 1 + 10, clock = 1 + 10;
    uint64_t all = p.run.threads[0]->tracer_ns;
    assert_in_range(all, lock + 2 * clock + sampled, lock + 2 * clock + 2 * sampled);
}

static void every_stopped_thread_continues(void **state)
{
    (void)state;
    play(&p,
         "scenario stops \"stops\"\nduration 1s\ncores 2\nimage app { method Work.run { compute 300ms } }\n"
         "thread main main run Work.run\nthread other x3 run Work.run\n",
         sim_policy_btrace_ios(), &sim_costs_default);
    assert_int_equal(p.run.end, SIM_END_DONE);
    assert_true(p.run.threads[0]->thread->held_ns > 0);
}

#define BY_HAND(test) cmocka_unit_test_setup_teardown(test, no_rows, drop_rows)
#define PLAYED(test)  cmocka_unit_test_setup_teardown(test, NULL, end_played)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BY_HAND(s55_a_thread_whose_cpu_is_one_tick_ahead_is_left_out),
        BY_HAND(s51_equal_stacks_five_seconds_apart_are_one_slice),
        BY_HAND(s52_a_single_sample_is_invisible),
        BY_HAND(s56_of_two_samples_in_one_tick_one_is_lost),
        BY_HAND(samples_in_one_tick_are_distinguished_by_their_cpu_time),
        BY_HAND(a_point_within_a_span_splits_it),
        BY_HAND(a_leaf_lasts_at_most_1_ms_longer_than_it_was_seen),
        BY_HAND(s57_frames_without_symbol_are_left_out),
        BY_HAND(s14_a_full_ring_drops_the_newest),
        BY_HAND(s15_of_32_sub_buffers_four_are_chosen),
        BY_HAND(s31_beyond_2_to_the_20_nodes_stacks_are_named_by_a_part_of_them),
        BY_HAND(samples_merge_within_a_drain_only),
        BY_HAND(s19_time_wraps_before_twelve_hours),
        PLAYED(work_without_hooks_is_seen_each_millisecond),
        PLAYED(s3_of_a_deep_stack_the_root_is_lost),
        PLAYED(s5_a_burst_after_the_refresh_is_not_seen),
        PLAYED(s6_hooks_take_the_budget_from_the_sampler),
        PLAYED(s6_with_a_period_of_0_nothing_is_left_for_it),
        PLAYED(few_addresses_count),
        PLAYED(s8_the_time_of_a_pass_adds_to_the_period),
        PLAYED(main_s_wait_for_a_lock_is_shown_without_wait_and_waker),
        PLAYED(main_s_wait_is_sampled_at_both_ends),
        PLAYED(a_waiting_thread_is_sampled_at_each_refresh),
        PLAYED(a_waiting_thread_that_used_10_us_is_sampled),
        cmocka_unit_test(s76_any_lock_of_any_thread_hides_the_waker_of_main),
        PLAYED(threads_that_share_a_tid_share_a_track),
        PLAYED(a_hook_costs_what_its_parts_cost),
        PLAYED(every_stopped_thread_continues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The policy btrace-android reproduces the failures of btrace 3.0 that were observed on Android: those of properties
 * S-n, and those of its trace builder with hand-made records. */
#include "engine/base/error.h"
#include "sim/policy/btrace_android.h"
#include "sim/policy/btrace_android_trace.h"
#include "tests/sim/support/played.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define US     UINT64_C(1000)
#define MS     UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

/* ---- hand-made records */

enum { MAIN = 1, OTHER = 2 };

static struct sim_btrace_record records[64];
static size_t record_count;
static struct sim_btrace_stacks stacks;
static struct sim_tracks tracks;
static uint32_t pid;

static int no_records(void **state)
{
    (void)state;
    record_count = 0;
    pid = MAIN;
    memset(&stacks, 0, sizeof stacks);
    sim_tracks_open(&tracks);
    return 0;
}

static int drop_records(void **state)
{
    (void)state;
    sim_btrace_stacks_close(&stacks);
    sim_tracks_close(&tracks);
    return 0;
}

/* Returns the id of a stack, outermost frame first. A letter is a method, '?' a wait of kind COND. */
static uint32_t stack(const char *letters)
{
    uint64_t frames[32];
    uint32_t count = 0;
    for (; *letters; letters++)
        frames[count++] = *letters == '?' ? SIM_BTRACE_WAIT | STROBE_KIND_COND : (uint64_t)(*letters - 'A') + 1;
    return sim_btrace_stack(&stacks, frames, count);
}

static struct sim_btrace_record *record(enum sim_btrace_type type, uint32_t tid, uint64_t begin_ns, uint64_t end_ns,
                                        const char *letters)
{
    struct sim_btrace_record *r = &records[record_count++];
    *r = (struct sim_btrace_record){
        .nano = begin_ns, .end_nano = end_ns, .type = (uint16_t)type, .tid = (uint16_t)tid, .stack = stack(letters)};
    return r;
}

static void point(uint64_t time_ns, const char *letters)
{
    record(SIM_BTRACE_ALLOCATION, MAIN, time_ns, 0, letters);
}

static const char *unnamed(const void *ctx, uint16_t tid)
{
    (void)ctx;
    (void)tid;
    return "thread";
}

static void build(void)
{
    static struct sim_method methods[] = {{.name = "A"}, {.name = "B"}, {.name = "C"}, {.name = "D"}};
    static const struct sim_scenario scenario = {.methods = methods, .method_count = 4};
    struct sim_btrace_android_dump dump = {.records = records,
                                           .count = record_count,
                                           .stacks = &stacks,
                                           .scenario = &scenario,
                                           .thread_name = unnamed,
                                           .pid = pid};
    assert_int_equal(sim_btrace_android_build(&dump, &tracks), STROBE_OK);
}

/* Case 5A.6: the stack A, B, C, then A, D 1 ms later. */
static void what_differs_ends_10_ns_after_it_was_last_seen(void **state)
{
    (void)state;
    point(1 * MS, "ABC");
    point(2 * MS, "AD");
    build();
    assert_string_equal(tracks_text(&tracks, MAIN, 1),
                        "1000000 A  1000000 B  1000000 C  1000010 .  1000010 .  2000000 D  "
                        "2000010 .  2000010 .");
    assert_int_equal(time_in(&tracks, MAIN, "A") - time_in(&tracks, MAIN, "B") - time_in(&tracks, MAIN, "D"), 999990);
}

static void s53_after_a_wait_another_leaf_of_equal_depth_is_shown_twice(void **state)
{
    (void)state;
    record(SIM_BTRACE_OBJECT_WAIT, MAIN, 1 * MS, 5 * MS, "A?");
    point(6 * MS, "AD");
    build();
    assert_string_equal(tracks_text(&tracks, MAIN, 1),
                        "1000000 A  1000000 [cond wait]  5000010 .  6000000 D  6000000 .  "
                        "6000000 D  6000010 .  6000010 .");
}

static void two_waits_of_one_stack_stay_two(void **state)
{
    (void)state;
    record(SIM_BTRACE_OBJECT_WAIT, MAIN, 1 * MS, 5 * MS, "A?");
    record(SIM_BTRACE_OBJECT_WAIT, MAIN, 7 * MS, 8 * MS, "A?");
    build();
    assert_string_equal(tracks_text(&tracks, MAIN, 1),
                        "1000000 A  1000000 [cond wait]  5000010 .  7000000 [cond wait]  "
                        "8000010 .  8000010 .");
    assert_int_equal(track_of(&tracks, MAIN)->wait_count, 2);
}

static void s50_s51_equal_stacks_are_one_slice_however_far_apart(void **state)
{
    (void)state;
    point(1 * SECOND, "AB");
    point(6 * SECOND, "AB");
    build();
    assert_int_equal(calls_of(&tracks, MAIN, "B"), 1);
    assert_int_equal(time_in(&tracks, MAIN, "B"), 5 * SECOND + 10);
}

static void s52_a_single_sample_lasts_10_ns(void **state)
{
    (void)state;
    point(3 * MS, "A");
    build();
    assert_string_equal(tracks_text(&tracks, MAIN, 1), "3000000 A  3000010 .");
}

/* The records of both ends of a wait have the counters of its end. */
static void s54_switches_of_a_wait_are_not_its_own(void **state)
{
    (void)state;
    record(SIM_BTRACE_OBJECT_WAIT, MAIN, 1 * MS, 5 * MS, "A?")->voluntary_switches = 10;
    build();
    assert_int_equal(track_of(&tracks, MAIN)->totals.voluntary_switches, 0);
}

static void an_end_before_its_begin_is_silently_a_point(void **state)
{
    (void)state;
    record(SIM_BTRACE_MONITOR, MAIN, 5 * MS, 4 * MS, "A");
    build();
    assert_string_equal(tracks_text(&tracks, MAIN, 1), "5000000 A  5000000 [monitor wait]  5000010 .  5000010 .");
    assert_int_equal(track_of(&tracks, MAIN)->wait_count, 0);
}

static int32_t waker_of_main(void)
{
    const struct sim_track *t = track_of(&tracks, pid & 0xffff);
    assert_int_equal(t->wait_count, 1);
    return t->waits[0].waker;
}

static void s70_of_several_releases_the_last_one_is_the_waker(void **state)
{
    (void)state;
    record(SIM_BTRACE_OBJECT_WAIT, MAIN, 1 * MS, 5 * MS, "A?");
    record(SIM_BTRACE_NOTIFY, 200, 1 * MS, 3 * MS, "B");
    record(SIM_BTRACE_NOTIFY, 201, 1 * MS, 4 * MS, "C");
    build();
    assert_int_equal(tracks.tracks[waker_of_main()].tid, 201);
}

static void s58_a_main_thread_with_a_large_tid_has_no_waker(void **state)
{
    (void)state;
    pid = 40000;
    record(SIM_BTRACE_OBJECT_WAIT, 40000, 1 * MS, 5 * MS, "A?");
    record(SIM_BTRACE_NOTIFY, 200, 1 * MS, 3 * MS, "B");
    build();
    assert_int_equal(waker_of_main(), SIM_NOBODY);
    assert_false(track_of(&tracks, 40000)->is_main);
}

static void s58_tids_equal_by_16_bits_are_one_track(void **state)
{
    (void)state;
    record(SIM_BTRACE_ALLOCATION, 70000, 1 * MS, 0, "A");
    record(SIM_BTRACE_ALLOCATION, 4464, 2 * MS, 0, "A");
    build();
    assert_int_equal(tracks.track_count, 1);
    assert_int_equal(tracks.tracks[0].tid, 4464);
}

/* ---- direct calls of hooks */

/* Threads on a virtual kernel that call the tracer's hooks directly. */
struct driver {
    struct sim_run run;
    struct sim_scenario scenario;
    struct sim_tracer *tracer;
    struct sim_vthread v[4];
    struct sim_vframe frames[4][200];
    uint32_t count;
};

static struct driver *d;

static struct sim_method driven_methods[] = {
    {.name = "A", .managed = true},
    {.name = "B", .managed = true},
    {.name = "native"},
    {.name = "inner"},
};
static struct sim_lock driven_locks[] = {{"lock", SIM_LOCK_MONITOR}, {"other", SIM_LOCK_MONITOR}};
static struct sim_op driven_ops[] = {{.kind = SIM_OP_COMPUTE}, {.kind = SIM_OP_WAIT, .object = 0, .other = 0}};

static int start_driver(void **state)
{
    (void)state;
    no_records(NULL);
    d = calloc(1, sizeof *d);
    assert_non_null(d);
    d->scenario = (struct sim_scenario){.methods = driven_methods,
                                        .method_count = 4,
                                        .locks = driven_locks,
                                        .lock_count = 2,
                                        .cond_count = 1,
                                        .ops = driven_ops,
                                        .op_count = 2};
    struct sim_kernel_options options = {.seed = 1, .cores = 4, .limit_ns = UINT64_MAX};
    d->run.scenario = &d->scenario;
    d->run.kernel = sim_kernel_open(&options, NULL);
    d->tracer = sim_policy_btrace_android();
    assert_non_null(d->tracer);
    assert_int_equal(d->tracer->start(d->tracer, &d->run), STROBE_OK);
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    sim_kernel_close(d->run.kernel);
    d->tracer->close(d->tracer);
    free(d);
    return drop_records(NULL);
}

/* Runs the first thread, main. Its entry function receives its struct sim_vthread. */
static void drive(void (*entry)(void *arg))
{
    struct sim_vthread *v = &d->v[d->count];
    v->frames = d->frames[d->count];
    v->is_main = d->count == 0;
    v->tid = ++d->count;
    struct sim_thread_options options = {.name = "driven", .entry = entry, .arg = v};
    v->thread = sim_thread_start(d->run.kernel, &options);
    assert_non_null(v->thread);
}

static void run_driver(void)
{
    struct strobe_error error;
    assert_int_equal(sim_kernel_run(d->run.kernel, &error), SIM_END_DONE);
    assert_int_equal(d->tracer->reconstruct(d->tracer, &d->run, &tracks, &error), STROBE_OK);
}

static void begin(struct sim_vthread *v, const char *letters)
{
    d->tracer->thread_begin(d->tracer, v);
    for (; *letters; letters++)
        v->frames[v->frame_count++].method = (uint32_t)(*letters - 'A');
}

static void alloc(struct sim_vthread *v)
{
    d->tracer->point(d->tracer, v, STROBE_KIND_ALLOC, 16);
}

static uint32_t scope(struct sim_vthread *v, enum strobe_kind kind, uint64_t what)
{
    return d->tracer->scope_begin(d->tracer, v, kind, what);
}

static void scope_end(struct sim_vthread *v, uint32_t token, enum strobe_kind kind, uint64_t what)
{
    d->tracer->scope_end(d->tracer, v, token, kind, what, STROBE_WAKE_RELEASED);
}

static void outer_load(void *arg)
{
    struct sim_vthread *v = arg;
    begin(v, "A");
    uint32_t token = scope(v, STROBE_KIND_LOAD, 0);
    sim_compute(199500 * US);
    v->frames[v->frame_count++].method = 1;
    alloc(v);
    v->frame_count--;
    sim_compute(500 * US);
    scope_end(v, token, STROBE_KIND_LOAD, 0);
}

static void s2b_a_sample_within_takes_the_record_of_the_outer_call(void **state)
{
    (void)state;
    drive(outer_load);
    run_driver();
    assert_int_equal(tracks.samples, 1);
    assert_int_equal(track_of(&tracks, 1)->wait_count, 0);
    assert_string_equal(tracks_text(&tracks, 1, 1),
                        "199500000 A  199500000 [load]  199500000 B  199500010 .  199500010 .  "
                        "199500010 .");
}

static void short_wait(void *arg)
{
    struct sim_vthread *v = arg;
    uint64_t lock = sim_what(SIM_WHAT_LOCK, 0);
    begin(v, "A");
    alloc(v);
    for (uint64_t wait_us = 900; wait_us <= 1100; wait_us += 200) {
        uint32_t token = scope(v, STROBE_KIND_MONITOR, lock);
        sim_sleep_until(sim_now() + wait_us * US);
        scope_end(v, token, STROBE_KIND_MONITOR, lock);
        sim_compute(2 * MS);
        alloc(v);
    }
}

static void s2_a_wait_shorter_than_the_interval_is_invisible(void **state)
{
    (void)state;
    drive(short_wait);
    run_driver();
    const struct sim_track *t = track_of(&tracks, 1);
    assert_int_equal(t->wait_count, 1);
    assert_int_equal(t->waits[0].end_ns - t->waits[0].begin_ns, 1100 * US);
    assert_true(t->waits[0].blocked);
}

static void allocates_each_ms(void *arg)
{
    struct sim_vthread *v = arg;
    begin(v, "A");
    for (int i = 0; i < 3; i++) {
        alloc(v);
        sim_compute(1 * MS);
    }
    sim_compute(1);
    alloc(v);
}

static void the_interval_itself_is_not_enough(void **state)
{
    (void)state;
    drive(allocates_each_ms);
    run_driver();
    assert_int_equal(tracks.samples, 3);
}

static void collects(void *arg)
{
    struct sim_vthread *v = arg;
    begin(v, "A");
    alloc(v);
    uint32_t token = scope(v, STROBE_KIND_GC, 0);
    sim_sleep_until(sim_now() + 300 * US);
    scope_end(v, token, STROBE_KIND_GC, 0);
}

static void a_wait_for_the_collector_is_always_recorded(void **state)
{
    (void)state;
    drive(collects);
    run_driver();
    assert_int_equal(tracks.samples, 2);
    assert_int_equal(track_of(&tracks, 1)->waits[0].kind, STROBE_KIND_GC);
}

static void collects_then_allocates(void *arg)
{
    struct sim_vthread *v = arg;
    collects(v);
    sim_compute(800 * US); /* 1.1 ms after the first sample, 0.8 ms after the forced one */
    alloc(v);
}

static void a_forced_sample_uses_the_interval_too(void **state)
{
    (void)state;
    drive(collects_then_allocates);
    run_driver();
    assert_int_equal(tracks.samples, 2);
}

static void parks(void *arg)
{
    struct sim_vthread *v = arg;
    begin(v, "A");
    uint64_t itself = sim_what(SIM_WHAT_PARK, v->thread->serial);
    uint32_t token = scope(v, STROBE_KIND_PARK, itself);
    sim_sleep_until(5 * MS);
    scope_end(v, token, STROBE_KIND_PARK, itself);
}

static void unparks_main(void *arg)
{
    struct sim_vthread *v = arg;
    begin(v, "B");
    sim_sleep_until(3 * MS);
    d->tracer->release(d->tracer, v, sim_what(SIM_WHAT_PARK, d->v[0].thread->serial), STROBE_RELEASE_TARGET);
}

static void an_unpark_is_the_waker_of_mains_park(void **state)
{
    (void)state;
    drive(parks);
    drive(unparks_main);
    run_driver();
    assert_int_equal(tracks.tracks[waker_of_main()].tid, 2);
}

static void waits_for_lock(void *arg)
{
    struct sim_vthread *v = arg;
    uint64_t lock = sim_what(SIM_WHAT_LOCK, 0);
    begin(v, "A");
    uint32_t token = scope(v, STROBE_KIND_MONITOR, lock);
    sim_sleep_until(5 * MS);
    scope_end(v, token, STROBE_KIND_MONITOR, lock);
}

static void releases(void *arg)
{
    struct sim_vthread *v = arg;
    begin(v, "B");
    sim_sleep_until(v->tid * MS);
    d->tracer->release(d->tracer, v, sim_what(SIM_WHAT_LOCK, v->tid == 2 ? 0 : 1), STROBE_RELEASE_LOCK);
}

static void the_release_of_another_lock_does_not_end_a_wait(void **state)
{
    (void)state;
    drive(waits_for_lock);
    drive(releases);
    drive(releases);
    run_driver();
    assert_int_equal(tracks.tracks[track_of(&tracks, 1)->waits[0].waker].tid, 2);
    assert_int_equal(tracks.samples, 2);
}

static void nested_waits(void *arg)
{
    struct sim_vthread *v = arg;
    uint64_t outer = sim_what(SIM_WHAT_LOCK, 0), inner = sim_what(SIM_WHAT_LOCK, 1);
    begin(v, "A");
    uint32_t token = scope(v, STROBE_KIND_MONITOR, outer);
    uint32_t token2 = scope(v, STROBE_KIND_MONITOR, inner);
    scope_end(v, token2, STROBE_KIND_MONITOR, inner);
    sim_sleep_until(5 * MS);
    scope_end(v, token, STROBE_KIND_MONITOR, outer);
}

static void releases_the_outer(void *arg)
{
    struct sim_vthread *v = arg;
    begin(v, "B");
    sim_sleep_until(4 * MS);
    d->tracer->release(d->tracer, v, sim_what(SIM_WHAT_LOCK, 0), STROBE_RELEASE_LOCK);
}

static void s74_a_wait_within_a_wait_takes_the_waker_of_the_outer(void **state)
{
    (void)state;
    drive(nested_waits);
    drive(releases_the_outer);
    run_driver();
    const struct sim_track *t = track_of(&tracks, 1);
    assert_int_equal(t->wait_count, 1);
    assert_int_equal(t->waits[0].waker, SIM_NOBODY);
    assert_null(track_of(&tracks, 2));
}

static const uint64_t object = (uint64_t)SIM_WHAT_COND << 32;

static void waits_for_object(void *arg)
{
    struct sim_vthread *v = arg;
    begin(v, "A");
    uint32_t token = scope(v, STROBE_KIND_COND, object);
    sim_sleep_until(5 * MS);
    scope_end(v, token, STROBE_KIND_COND, object);
}

static void notifies(void *arg)
{
    struct sim_vthread *v = arg;
    begin(v, "B");
    sim_sleep_until(v->tid * MS);
    d->tracer->release(d->tracer, v, object, STROBE_RELEASE_ONE);
}

/* The first notifier wakes main, which has not yet returned from its wait when the others notify. */
static void s70_a_later_notify_before_main_is_back_is_its_waker(void **state)
{
    (void)state;
    drive(waits_for_object);
    for (int i = 0; i < 3; i++)
        drive(notifies);
    run_driver();
    const struct sim_wait *w = &track_of(&tracks, 1)->waits[0];
    assert_int_equal(tracks.tracks[w->waker].tid, 4);
    assert_in_range(w->release_ns, 4 * MS, 4 * MS + 10 * US);
    assert_int_equal(tracks.samples, 4);
}

static void native_calls(void *arg)
{
    struct sim_vthread *v = arg;
    begin(v, "ACD");
    uint64_t lock = sim_what(SIM_WHAT_LOCK, 0);
    scope_end(v, scope(v, STROBE_KIND_MONITOR, lock), STROBE_KIND_MONITOR, lock);
}

static void native_frames_are_seen_only_where_managed_code_calls_them(void **state)
{
    (void)state;
    drive(native_calls);
    run_driver();
    assert_string_equal(tracks_text(&tracks, 1, 1), "0 A  0 native  0 [monitor wait]  10 .  10 .  10 .");
}

static void native_allocations(void *arg)
{
    struct sim_vthread *v = arg;
    begin(v, "AC");
    alloc(v);
}

static void native_allocations_are_not_seen(void **state)
{
    (void)state;
    drive(native_allocations);
    run_driver();
    assert_int_equal(tracks.samples, 0);
}

/* ---- scenarios */

static struct played p;

static void played(const char *text)
{
    play(&p, text, sim_policy_btrace_android(), NULL);
}

static int end_played(void **state)
{
    (void)state;
    played_close(&p);
    return 0;
}

static void s1_a_hook_each_300_us_gives_830_samples_a_second(void **state)
{
    (void)state;
    played("scenario s1 \"hooks\"\nduration 1s\n"
           "image base managed { method Main.run { forever { compute 300us; alloc 16 } } }\n"
           "thread main main run Main.run\n");
    assert_in_range(p.reconstruction.samples, 828, 836);
}

static void s3_a_stack_of_129_frames_is_dropped_and_the_interval_with_it(void **state)
{
    (void)state;
    played("scenario s3 \"deep\"\nduration 1s\nimage base managed {\n"
           "method Deep.run { alloc 16 }\nmethod Flat.run { alloc 16 }\n"
           "method Main.run { recurse Deep.run 128; compute 500us; call Flat.run; compute 600us; call Flat.run }\n}\n"
           "thread main main run Main.run\n");
    assert_int_equal(p.reconstruction.samples, 1);
    assert_int_equal(p.reconstruction.lost, 1);
    assert_string_equal(tracks_text(&p.reconstruction, 1, 10 * US), "110 Main.run  110 Flat.run  110 .  110 .");
}

static void a_stack_of_128_frames_is_kept_whole(void **state)
{
    (void)state;
    played("scenario s3 \"deep\"\nduration 1s\nimage base managed {\n"
           "method Deep.run { alloc 16 }\nmethod Main.run { recurse Deep.run 127 }\n}\n"
           "thread main main run Main.run\n");
    assert_int_equal(calls_of(&p.reconstruction, 1, "Deep.run"), 127);
}

static void s4_work_without_hooks_is_one_slice_of_what_is_around_it(void **state)
{
    (void)state;
    played("scenario s4 \"no hooks\"\nduration 1s\nimage base managed {\n"
           "method Math.run { compute 50ms }\nmethod Main.run { alloc 16; call Math.run; alloc 16 }\n}\n"
           "thread main main run Main.run\n");
    assert_string_equal(tracks_text(&p.reconstruction, 1, 10 * US), "0 Main.run  5000 .");
}

static void s50_messages_of_equal_stacks_are_one_slice(void **state)
{
    (void)state;
    played("scenario s50 \"rows\"\nduration 100ms\nqueue ui\nimage base managed {\n"
           "method Row.bind { compute 2ms; alloc 16 }\n"
           "method Main.run { repeat 5 { post Row.bind to ui }; loop ui }\n}\nthread main main run Main.run\n");
    assert_int_equal(calls_of(&p.run.truth, 1, "Row.bind"), 5);
    assert_int_equal(calls_of(&p.reconstruction, 1, "Row.bind"), 1);
}

static void s58_a_tid_beyond_16_bits_is_another(void **state)
{
    (void)state;
    played("scenario s58 \"tid\"\nduration 10ms\nimage base managed { method Main.run { compute 2ms; alloc 16 } }\n"
           "thread main main run Main.run\nthread far tid 70000 run Main.run\n");
    assert_non_null(track_of(&p.run.truth, 70000));
    assert_null(track_of(&p.reconstruction, 70000));
    assert_non_null(track_of(&p.reconstruction, 4464));
}

static void only_threads_that_live_at_the_dump_and_have_15_bits_of_tid_have_a_name(void **state)
{
    (void)state;
    played("scenario names \"names\"\nduration 20ms\nimage base managed {\nmethod Work.run { compute 2ms; alloc 16 }\n"
           "method Main.run { call Work.run; sleep 1s }\n}\nthread main main run Main.run\n"
           "thread lives tid 300 run Main.run\nthread ended tid 301 run Work.run\nthread far tid 40000 run Main.run\n");
    assert_string_equal(track_of(&p.reconstruction, 300)->name, "lives");
    assert_string_equal(track_of(&p.reconstruction, 301)->name, "Thread");
    assert_string_equal(track_of(&p.reconstruction, 40000)->name, "Thread");
}

static const struct sim_wait *only_wait(uint32_t tid, enum strobe_kind kind)
{
    const struct sim_track *t = track_of(&p.reconstruction, tid);
    const struct sim_wait *found = NULL;
    for (size_t i = 0; t && i < t->wait_count; i++)
        if (t->waits[i].kind == kind && t->waits[i].end_ns - t->waits[i].begin_ns > 1 * MS) {
            assert_null(found);
            found = &t->waits[i];
        }
    assert_non_null(found);
    return found;
}

static const char monitors[] = "monitor lock\ncond there\nimage base managed {\n"
                               "method Hold.run { synchronized lock { compute 5ms } }\n"
                               "method Late.run { compute 1ms; synchronized lock { compute 3ms } }\n"
                               "method Wait.run { synchronized lock { wait there holding lock } }\n"
                               "method Short.run {\n"
                               "synchronized lock { compute 3ms; wait there holding lock timeout 10ms } }\n"
                               "method Notify.run { compute 3ms; synchronized lock { notify there } }\n}\n";

static void with_monitors(const char *threads)
{
    char text[2048];
    strcpy(text, "scenario waits \"waits\"\nduration 1s\n");
    strcat(text, monitors);
    strcat(text, threads);
    played(text);
}

static void main_learns_its_waker(void **state)
{
    (void)state;
    with_monitors("thread main main run Late.run\nthread other run Hold.run\n");
    const struct sim_wait *w = only_wait(1, STROBE_KIND_MONITOR);
    const struct sim_wait *truth = &track_of(&p.run.truth, 1)->waits[0];
    assert_int_equal(w->begin_ns, truth->begin_ns);
    assert_int_equal(w->end_ns, truth->end_ns);
    assert_int_equal(w->release_ns, truth->release_ns);
    assert_int_equal(p.reconstruction.tracks[w->waker].tid, 2);
}

static void s75_waits_of_other_threads_have_no_waker(void **state)
{
    (void)state;
    with_monitors("thread main main run Hold.run\nthread other run Late.run\n");
    assert_int_equal(only_wait(2, STROBE_KIND_MONITOR)->waker, SIM_NOBODY);
    assert_int_equal(track_of(&p.run.truth, 2)->waits[0].waker, 0);
}

/* The notify wakes the longest waiter, which is not main. */
static void s71_s77_a_notify_that_wakes_another_thread_is_named_as_the_waker(void **state)
{
    (void)state;
    with_monitors("thread first run Wait.run\nthread main main start 1ms run Short.run\n"
                  "thread other start 6ms run Notify.run\n");
    const struct sim_track *truth = track_of(&p.run.truth, 2);
    assert_true(truth->is_main);
    assert_int_equal(truth->waits[truth->wait_count - 1].waker, SIM_NOBODY);
    assert_int_equal(p.reconstruction.tracks[only_wait(2, STROBE_KIND_COND)->waker].tid, 3);
}

static void a_monitor_released_by_a_wait_has_no_waker(void **state)
{
    (void)state;
    with_monitors("thread main main run Late.run\nthread other run Short.run\nthread last start 5ms run Notify.run\n");
    const struct sim_track *truth = track_of(&p.run.truth, 1);
    assert_int_equal(truth->waits[0].waker, 1);
    assert_int_equal(only_wait(1, STROBE_KIND_MONITOR)->waker, SIM_NOBODY);
}

static void a_jni_call_is_seen_with_its_native_method(void **state)
{
    (void)state;
    played("scenario jni \"jni\"\nduration 10ms\nimage native { method nRead { compute 2ms } }\n"
           "image base managed { method Main.run { jni nRead } }\nthread main main run Main.run\n");
    assert_int_equal(p.reconstruction.samples, 1);
    assert_int_equal(calls_of(&p.reconstruction, 1, "nRead"), 1);
}

static void park_of_others_is_not_recorded(void **state)
{
    (void)state;
    played("scenario park \"park\"\nduration 1s\nimage base managed {\n"
           "method Park.run { park; compute 2ms; alloc 16 }\n"
           "method Main.run { park timeout 5ms; unpark other; compute 1ms }\n}\n"
           "thread main main run Main.run\nthread other run Park.run\n");
    assert_int_equal(track_of(&p.reconstruction, 1)->wait_count, 1);
    assert_int_equal(track_of(&p.reconstruction, 2)->wait_count, 0);
    assert_int_equal(track_of(&p.run.truth, 2)->wait_count, 1);
}

static void native_mutexes_files_and_sleeps_have_no_hook(void **state)
{
    (void)state;
    played("scenario none \"no hooks\"\nduration 1s\nmutex m\nimage base managed {\n"
           "method Main.run { lock m { compute 2ms }; sleep 5ms; read 100 takes 3ms; clock; acquire s }\n}\n"
           "semaphore s 1\n"
           "thread main main run Main.run\n");
    assert_int_equal(p.reconstruction.samples, 0);
    assert_int_equal(p.run.threads[0]->tracer_ns, 0);
}

static void a_hook_costs_what_its_parts_cost(void **state)
{
    (void)state;
    struct sim_costs costs = {
        .hook = 1, .clock = 10, .thread_clock = 100, .usage = 1000, .sample = 10000, .frame = 100000};
    play(&p,
         "scenario costs \"costs\"\nduration 1s\nmonitor m\nimage base managed {\n"
         "method Leaf.run { alloc 16; alloc 16; synchronized m { } }\nmethod Main.run { call Leaf.run }\n}\n"
         "thread main main run Main.run\n",
         sim_policy_btrace_android(), &costs);
    uint64_t sampled = 10000 + 2 * 100000 + 1000 + 100, passed_over = 1 + 10;
    uint64_t monitor = 1 + 10 + 100 + 10 + 1;
    assert_int_equal(p.run.threads[0]->tracer_ns, sampled + 2 * passed_over + monitor);
}

static void the_oldest_records_are_overwritten(void **state)
{
    (void)state;
    play(&p,
         "scenario ring \"ring\"\nduration 100ms\n"
         "image base managed { method Main.run { forever { compute 2ms; alloc 16 } } }\n"
         "thread main main run Main.run\n",
         sim_btrace_android_open(10), NULL);
    assert_int_equal(p.reconstruction.samples, 49);
    assert_int_equal(p.reconstruction.lost, 39);
    assert_in_range(track_of(&p.reconstruction, 1)->begin_ns, 80 * MS, 81 * MS);
}

static void records_take_76_bytes_and_8_for_each_frame(void **state)
{
    (void)state;
    played("scenario bytes \"bytes\"\nduration 10ms\n"
           "image base managed { method Main.run { alloc 16; compute 5ms; alloc 16 } }\n"
           "thread main main run Main.run\n");
    uint64_t mapping = 16 + 10 + strlen("Main.run");
    assert_int_equal(p.reconstruction.bytes, 28 + 2 * (76 + 8) + mapping);
}

#define BY_HAND(test) cmocka_unit_test_setup_teardown(test, no_records, drop_records)
#define DRIVEN(test)  cmocka_unit_test_setup_teardown(test, start_driver, stop_driver)
#define PLAYED(test)  cmocka_unit_test_setup_teardown(test, NULL, end_played)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BY_HAND(what_differs_ends_10_ns_after_it_was_last_seen),
        BY_HAND(s53_after_a_wait_another_leaf_of_equal_depth_is_shown_twice),
        BY_HAND(two_waits_of_one_stack_stay_two),
        BY_HAND(s50_s51_equal_stacks_are_one_slice_however_far_apart),
        BY_HAND(s52_a_single_sample_lasts_10_ns),
        BY_HAND(s54_switches_of_a_wait_are_not_its_own),
        BY_HAND(an_end_before_its_begin_is_silently_a_point),
        BY_HAND(s70_of_several_releases_the_last_one_is_the_waker),
        BY_HAND(s58_a_main_thread_with_a_large_tid_has_no_waker),
        BY_HAND(s58_tids_equal_by_16_bits_are_one_track),
        DRIVEN(s2b_a_sample_within_takes_the_record_of_the_outer_call),
        DRIVEN(s2_a_wait_shorter_than_the_interval_is_invisible),
        DRIVEN(the_interval_itself_is_not_enough),
        DRIVEN(a_wait_for_the_collector_is_always_recorded),
        DRIVEN(a_forced_sample_uses_the_interval_too),
        DRIVEN(an_unpark_is_the_waker_of_mains_park),
        DRIVEN(the_release_of_another_lock_does_not_end_a_wait),
        DRIVEN(s74_a_wait_within_a_wait_takes_the_waker_of_the_outer),
        DRIVEN(s70_a_later_notify_before_main_is_back_is_its_waker),
        DRIVEN(native_frames_are_seen_only_where_managed_code_calls_them),
        DRIVEN(native_allocations_are_not_seen),
        PLAYED(s1_a_hook_each_300_us_gives_830_samples_a_second),
        PLAYED(s3_a_stack_of_129_frames_is_dropped_and_the_interval_with_it),
        PLAYED(a_stack_of_128_frames_is_kept_whole),
        PLAYED(s4_work_without_hooks_is_one_slice_of_what_is_around_it),
        PLAYED(s50_messages_of_equal_stacks_are_one_slice),
        PLAYED(s58_a_tid_beyond_16_bits_is_another),
        PLAYED(only_threads_that_live_at_the_dump_and_have_15_bits_of_tid_have_a_name),
        PLAYED(main_learns_its_waker),
        PLAYED(s75_waits_of_other_threads_have_no_waker),
        PLAYED(s71_s77_a_notify_that_wakes_another_thread_is_named_as_the_waker),
        PLAYED(a_monitor_released_by_a_wait_has_no_waker),
        PLAYED(a_jni_call_is_seen_with_its_native_method),
        PLAYED(park_of_others_is_not_recorded),
        PLAYED(native_mutexes_files_and_sleeps_have_no_hook),
        PLAYED(a_hook_costs_what_its_parts_cost),
        PLAYED(the_oldest_records_are_overwritten),
        PLAYED(records_take_76_bytes_and_8_for_each_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

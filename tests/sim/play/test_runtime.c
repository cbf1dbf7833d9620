/* The runtime plays the scenario, and the true timeline states what was played. */
#include "engine/base/error.h"
#include "tests/sim/support/app.h"
#include "tests/sim/support/played.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define US UINT64_C(1000)

static struct played p;

static void run_alone(const char *text, uint64_t seed, enum sim_schedule schedule)
{
    struct sim_run_options options = {.seed = seed, .schedule = schedule};
    play_as(&p, text, NULL, &options);
}

static const struct sim_track *named(const char *name)
{
    for (size_t i = 0; i < p.run.truth.track_count; i++)
        if (strcmp(p.run.truth.tracks[i].name, name) == 0)
            return &p.run.truth.tracks[i];
    fail_msg("no thread %s", name);
    return NULL;
}

static const char *story(const char *name)
{
    return tracks_text(&p.run.truth, named(name)->tid, US);
}

/* ---- calls */

static void calls_begin_and_end_when_their_work_does(void **state)
{
    (void)state;
    run_alone("scenario s \"\"\nduration 1ms\ncores 1\nimage a.so {\n"
              "method g { compute 3us }\nmethod f { compute 2us; call g; repeat 2 { call g }; compute 1us }\n"
              "method h { compute 5us }\nmethod top { call f; recurse h 3 }\n}\nthread main main run top\n",
              1, SIM_FAIR);
    assert_string_equal(story("main"), "1 top  1 f  3 g  6 .  6 g  9 .  9 g  12 .  13 .  13 h  13 h  13 h  18 .  18 .  "
                                       "18 .  18 .");
    assert_int_equal(p.run.end, SIM_END_DONE);
    played_close(&p);
}

static void a_throw_leaves_all_frames_down_to_the_catch(void **state)
{
    (void)state;
    run_alone("scenario s \"\"\nduration 1ms\ncores 1\nmutex m\nimage a.so {\n"
              "method c { compute 1us; lock m { compute 1us; throw } }\nmethod b { call c; compute 99us }\n"
              "method a { try { call b; compute 99us } catch { compute 4us }; compute 1us; "
              "lock m { compute 1us } }\n}\n"
              "thread main main run a\n",
              1, SIM_FAIR);
    assert_string_equal(story("main"), "1 a  1 b  1 c  3 .  3 .  9 .");
    const struct sim_track *t = named("main");
    unsigned thrown = 0;
    for (size_t i = 0; i < t->event_count; i++)
        thrown += t->events[i].name == SIM_CALL_END && t->events[i].class == 1;
    assert_int_equal(thrown, 2);
    played_close(&p);
}

static void an_uncaught_exception_ends_its_thread(void **state)
{
    (void)state;
    run_alone("scenario s \"\"\nduration 1ms\ncores 1\nmutex m\nimage a.so {\n"
              "method b { lock m { compute 1us; throw } }\nmethod a { call b }\n"
              "method other { compute 50us; lock m { compute 1us } }\n}\n"
              "thread main main run a\nthread o run other\n",
              1, SIM_FAIR);
    assert_int_equal(p.run.end, SIM_END_DONE); /* the exception released the lock */
    played_close(&p);
}

static void a_deep_recursion_needs_no_stack_of_the_host(void **state)
{
    (void)state;
    run_alone("scenario s \"\"\nduration 1ms\ncores 1\nimage a.so {\n"
              "method f { compute 1us }\nmethod top { recurse f 9000 }\n}\nthread main main run top\n",
              1, SIM_FAIR);
    assert_int_equal(named("main")->event_count, 2 * 9001);
    played_close(&p);
}

static void a_stack_that_is_full_is_said_with_its_place(void **state)
{
    (void)state;
    struct strobe_error error = {""};
    struct sim_scenario *s;
    struct sim_run run;
    struct sim_run_options options = {.seed = 1};
    static const char text[] = "scenario s \"\"\nduration 1ms\ncores 1\nimage a.so {\n"
                               "method f frame 1024 { compute 1us }\nmethod top { recurse f 2000 }\n}\n"
                               "thread main main run top\n";
    assert_int_equal(sim_scenario_parse(text, "deep.scn", &s, &error), STROBE_OK);
    assert_int_equal(sim_run_play(&run, s, &options, NULL, &error), STROBE_BAD_INPUT);
    assert_string_equal(error.text, "deep.scn:6:14: expected a call within the stack's 1 MiB");
    sim_run_close(&run);
    sim_scenario_free(s);
}

/* ---- waits */

static const struct sim_wait *only_wait(const char *name, enum strobe_kind kind)
{
    const struct sim_track *t = named(name);
    const struct sim_wait *found = NULL;
    for (size_t i = 0; i < t->wait_count; i++) {
        if (t->waits[i].kind != kind)
            continue;
        assert_null(found);
        found = &t->waits[i];
    }
    assert_non_null(found);
    return found;
}

static void check_waker(const char *waiter, enum strobe_kind kind, const char *waker, uint64_t release_us)
{
    const struct sim_wait *w = only_wait(waiter, kind);
    assert_true(w->blocked);
    assert_true(w->waker >= 0);
    assert_string_equal(p.run.truth.tracks[w->waker].name, waker);
    assert_int_equal(w->release_ns / US, release_us);
    assert_true(w->begin_ns <= w->release_ns && w->release_ns <= w->end_ns);
}

/* For a_post_is_a_write_where_it_calls_a_looper: checks the waker of the looper's first poll. */
static void check_waker_of_first_poll(void)
{
    const struct sim_track *t = named("looper");
    assert_true(t->wait_count > 0 && t->waits[0].kind == STROBE_KIND_POLL && t->waits[0].waker >= 0);
    assert_string_equal(p.run.truth.tracks[t->waits[0].waker].name, "main");
}

static void the_true_timeline_names_the_waker_of_each_wait(void **state)
{
    (void)state;
    run_alone("scenario s \"\"\nduration 10ms\ncores 4\nmutex m\nmutex n\ncond c\nsemaphore z 0\nimage a.so {\n"
              "method hold { lock m { compute 100us }; compute 100us; lock n { notify c }; compute 100us; release z;\n"
              "compute 100us; unpark parker }\n"
              "method locks { compute 10us; lock m { compute 1us } }\n"
              "method waits { lock n { wait c holding n } }\nmethod takes { acquire z }\nmethod parks { park }\n}\n"
              "thread holder main run hold\nthread locker run locks\nthread waiter run waits\nthread taker run takes\n"
              "thread parker run parks\n",
              1, SIM_FAIR);
    assert_int_equal(p.run.end, SIM_END_DONE);
    check_waker("locker", STROBE_KIND_MUTEX, "holder", 101);
    check_waker("waiter", STROBE_KIND_COND, "holder", 201);
    check_waker("taker", STROBE_KIND_SEM, "holder", 301);
    check_waker("parker", STROBE_KIND_PARK, "holder", 401);
    played_close(&p);
}

static void a_lock_that_is_free_is_no_wait(void **state)
{
    (void)state;
    run_alone("scenario s \"\"\nduration 1ms\ncores 1\nmutex m\nmonitor o\nimage a.so {\n"
              "method f { lock m { synchronized o { synchronized o { compute 1us } } } }\n}\nthread main main run f\n",
              1, SIM_FAIR);
    assert_int_equal(named("main")->wait_count, 0);
    assert_string_equal(story("main"), "1 f  2 .");
    played_close(&p);
}

static void a_wait_that_the_run_ends_in_lasts_until_then(void **state)
{
    (void)state;
    run_alone("scenario s \"\"\nduration 1ms\ncores 1\nimage a.so {\nmethod f { compute 10us; sleep 5ms }\n}\n"
              "thread main main run f\n",
              1, SIM_FAIR);
    const struct sim_wait *w = only_wait("main", STROBE_KIND_SLEEP);
    assert_int_equal(w->end_ns, 1000 * US);
    assert_int_equal(w->waker, SIM_NOBODY);
    assert_int_equal(named("main")->end_ns, 1000 * US);
    played_close(&p);
}

static void the_collector_stops_managed_threads_at_their_next_operation(void **state)
{
    (void)state;
    run_alone("scenario s \"\"\nduration 10ms\ncores 4\nimage a.odex managed {\n"
              "method work { compute 150us; compute 50us }\nmethod collect { compute 100us; gc takes 300us }\n}\n"
              "image n.so {\nmethod native { compute 150us; compute 50us }\n}\n"
              "thread w main run work\nthread c run collect\nthread n run native\n",
              1, SIM_FAIR);
    const struct sim_wait *gc = only_wait("w", STROBE_KIND_GC);
    assert_int_equal(gc->begin_ns / US, 151);
    assert_int_equal(gc->release_ns / US, 401);
    assert_string_equal(p.run.truth.tracks[gc->waker].name, "c");
    assert_int_equal(named("n")->wait_count, 0);
    played_close(&p);
}

/* ---- threads and messages */

static void a_tid_used_again_has_the_next_generation(void **state)
{
    (void)state;
    run_alone("scenario s \"\"\nduration 10ms\ncores 1\nimage a.so {\nmethod f { compute 5us }\n"
              "method top { repeat 3 { spawn worker; join worker; compute 10us } }\n}\n"
              "thread main main run top\nthread worker x0 tid 70000 reuse_tid run f\n",
              1, SIM_FAIR);
    uint32_t generation = 0;
    for (size_t i = 0; i < p.run.truth.track_count; i++) {
        const struct sim_track *t = &p.run.truth.tracks[i];
        if (t->tid == 70000)
            assert_int_equal(t->generation, ++generation);
    }
    assert_int_equal(generation, 3);
    played_close(&p);
}

static void the_start_of_a_thread_costs_both_threads_and_is_not_in_its_track(void **state)
{
    (void)state;
    struct sim_run_options options = {.seed = 1, .costs = {.start_call = 30e3, .start_own = 20e3, .end_own = 5e3}};
    play_as(&p,
            "scenario s \"\"\nduration 1ms\ncores 2\nimage a.so {\nmethod f { compute 10us }\n"
            "method top { compute 1us; spawn w; compute 100us }\n}\nthread main main run top\nthread w x0 run f\n",
            NULL, &options);
    const struct sim_track *w = named("w-1");
    assert_string_equal(story("main"), "1 top  132 .");
    assert_string_equal(story("w-1"), "53 f  63 .");
    assert_int_equal(w->begin_ns / US, 53);
    assert_int_equal(w->end_ns / US, 63);
    assert_int_equal(w->totals.cpu_ns, 10 * US);
    assert_int_equal(w->cpu_count, 1);
    assert_int_equal(w->cpu[0].end_ns - w->cpu[0].begin_ns, 10 * US);
    assert_int_equal(p.run.cpu.app_ns, (131 + 35) * US);
    played_close(&p);
}

static void a_post_is_a_write_where_it_calls_a_looper(void **state)
{
    (void)state;
    struct sim_run_options options = {.seed = 1, .costs = {.wake_call = {{3e3, 3e3, 3e3, 3e3, 3e3}}}};
    play_as(&p,
            "scenario s \"\"\nduration 1ms\ncores 2\nqueue q\nimage a.so {\nmethod f { compute 20us }\n"
            "method drain { loop q }\n"
            "method top { compute 10us; post f to q; compute 10us; post f to q; compute 50us }\n"
            "}\nthread main main run top\nthread looper run drain\n",
            NULL, &options);
    assert_string_equal(story("main"), "1 top  11 [write]  14 .  74 .");
    assert_int_equal(named("main")->wait_count, 1);
    assert_false(named("main")->waits[0].blocked);
    check_waker_of_first_poll();
    played_close(&p);
}

/* Returns the number of calls of main in the truth: `top`, and the write if it counts. */
static size_t calls_with_write_of(double ns)
{
    struct sim_run_options options = {.seed = 1, .costs = {.wake_call = {{ns, ns, ns, ns, ns}}}};
    play_as(&p,
            "scenario s \"\"\nduration 1ms\ncores 2\nqueue q\nimage a.so {\nmethod f { compute 20us }\n"
            "method drain { loop q }\nmethod top { compute 10us; post f to q }\n"
            "}\nthread main main run top\nthread looper run drain\n",
            NULL, &options);
    size_t calls = named("main")->event_count / 2;
    played_close(&p);
    return calls;
}

static void a_call_that_did_not_block_is_in_the_truth_from_2_us_on(void **state)
{
    (void)state;
    assert_int_equal(calls_with_write_of(1999), 1);
    assert_int_equal(calls_with_write_of(2000), 2);
}

/* The looper waited while main computed, so the scheduler prefers it: it gets the only core before main's write
 * returns. */
static void a_thread_that_a_post_wakes_may_get_the_core_before_the_write_returns(void **state)
{
    (void)state;
    struct sim_run_options options = {.seed = 1, .costs = {.wake_call = {{3e3, 3e3, 3e3, 3e3, 3e3}}, .turn = 1400000}};
    play_as(&p,
            "scenario s \"\"\nduration 3ms\ncores 1\nqueue q\nimage a.so {\nmethod f { compute 20us }\n"
            "method drain { loop q }\n"
            "method top { compute 1ms; post f to q; compute 100us }\n"
            "}\nthread looper main run drain\nthread main run top\n",
            NULL, &options);
    const struct sim_track *t = named("main");
    assert_int_equal(t->event_count, 4); /* top, [write], its end, the end */
    assert_in_range(t->events[2].time_ns - t->events[1].time_ns, 23000, 30000);
    played_close(&p);
}

static void due_messages_go_by_priority_and_then_in_order(void **state)
{
    (void)state;
    run_alone("scenario s \"\"\nduration 1ms\ncores 1\nqueue q\nimage a.so {\n"
              "method low { compute 1us }\nmethod high { compute 1us }\nmethod late { compute 1us }\n"
              "method first { post low to q; post late to q after 500us; post high to q priority 5; post low to q; "
              "compute 10us }\nmethod top { post first to q; loop q }\n}\nthread main main run top\n",
              1, SIM_FAIR);
    assert_string_equal(story("main"), "1 top  1 first  11 .  11 high  12 .  12 low  13 .  13 low  14 .  "
                                       "14 [poll]  501 .  501 late  502 .  502 [poll]  1000 .  1000 .");
    const struct sim_track *t = named("main");
    assert_int_equal(t->message_count, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(t->messages[i].value, i + 1);
    played_close(&p);
}

static void a_vsync_posts_a_frame_each_period_unless_one_waits(void **state)
{
    (void)state;
    run_alone("scenario s \"\"\nduration 100ms\ncores 1\nqueue q vsync 10ms frame draw\nimage a.so {\n"
              "method draw { compute 1ms }\nmethod slow { compute 35ms }\n"
              "method top { post slow to q after 32ms; loop q }\n}\nthread main main run top\n",
              1, SIM_FAIR);
    /* Frames at 10, 20, 30, 70, 80 and 90, and one for those at 40, 50 and 60, because `slow` runs then. */
    assert_int_equal(calls_of(&p.run.truth, named("main")->tid, "draw"), 7);
    played_close(&p);
}

/* ---- whole runs */

static void each_thread_is_sound(void)
{
    for (size_t i = 0; i < p.run.truth.track_count; i++) {
        const struct sim_track *t = &p.run.truth.tracks[i];
        uint64_t last = t->begin_ns, on_core = 0;
        size_t depth = 0;
        for (size_t k = 0; k < t->event_count; k++) {
            assert_true(t->events[k].time_ns >= last);
            last = t->events[k].time_ns;
            assert_true(t->events[k].name != SIM_CALL_END || depth);
            depth += t->events[k].name == SIM_CALL_END ? (size_t)-1 : 1;
        }
        assert_int_equal(depth, 0);
        assert_true(last <= t->end_ns);
        for (size_t k = 0; k < t->cpu_count; k++) {
            assert_true(t->cpu[k].begin_ns < t->cpu[k].end_ns && t->cpu[k].end_ns <= t->end_ns);
            assert_true(k == 0 || t->cpu[k - 1].end_ns <= t->cpu[k].begin_ns);
            on_core += t->cpu[k].end_ns - t->cpu[k].begin_ns;
        }
        assert_int_equal(on_core, t->totals.cpu_ns);
        for (size_t k = 0; k < t->wait_count; k++)
            assert_true(t->waits[k].begin_ns <= t->waits[k].release_ns && t->waits[k].release_ns <= t->waits[k].end_ns);
    }
}

static void run_app(uint64_t seed, enum sim_schedule schedule)
{
    char text[4096];
    int bytes = snprintf(text, sizeof text, "scenario s \"\"\nduration 60ms\ncores 3\n%s", app_of_everything);
    assert_true(bytes > 0 && (size_t)bytes < sizeof text);
    run_alone(text, seed, schedule);
}

static void calls_nest_and_core_time_adds_up_in_any_schedule(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        run_app(seed, seed % 2 ? SIM_FAIR : SIM_ADVERSARIAL);
        if (p.run.end != SIM_END_LIMIT)
            fail_msg("seed %llu: %s", (unsigned long long)seed, p.run.end_why);
        each_thread_is_sound();
        played_close(&p);
    }
}

/* Returns a hash of all content of the true timeline. */
static uint64_t digest(const struct sim_tracks *t)
{
    uint64_t h = t->track_count;
    for (size_t i = 0; i < t->track_count; i++) {
        const struct sim_track *tr = &t->tracks[i];
        h = strobe_mix_pair(h, tr->tid ^ tr->begin_ns ^ tr->end_ns << 20);
        for (size_t k = 0; k < tr->event_count; k++)
            h = strobe_mix_pair(h ^ tr->events[k].time_ns, (uint64_t)tr->events[k].name << 2 | tr->events[k].class);
        for (size_t k = 0; k < tr->wait_count; k++)
            h = strobe_mix_pair(h ^ tr->waits[k].release_ns, (uint64_t)tr->waits[k].waker);
    }
    return h;
}

static uint64_t digest_of(uint64_t seed, enum sim_schedule schedule)
{
    run_app(seed, schedule);
    uint64_t h = digest(&p.run.truth);
    played_close(&p);
    return h;
}

static void threads_of_other_programs_take_their_share_and_are_in_no_truth(void **state)
{
    (void)state;
    const char *text = "scenario s \"\"\nduration 90ms\ncores 1\nbusy %d\nimage a.so {\n"
                       "method f { forever { compute 1ms } }\n}\nthread main main run f\n";
    for (int busy = 0; busy <= 2; busy++) {
        char whole[512];
        snprintf(whole, sizeof whole, text, busy);
        run_alone(whole, 1, SIM_FAIR);
        assert_int_equal(p.run.truth.track_count, 1);
        uint64_t cpu_ns = named("main")->totals.cpu_ns, fair_ns = 90000000 / (1 + (uint64_t)busy);
        assert_in_range(cpu_ns, fair_ns - 4000000, fair_ns + 4000000);
        played_close(&p);
    }
}

static void a_seed_determines_the_whole_run(void **state)
{
    (void)state;
    for (int schedule = SIM_FAIR; schedule <= SIM_ADVERSARIAL; schedule++) {
        uint64_t once = digest_of(5, (enum sim_schedule)schedule);
        assert_true(once == digest_of(5, (enum sim_schedule)schedule));
        assert_true(once != digest_of(6, (enum sim_schedule)schedule));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_begin_and_end_when_their_work_does),
        cmocka_unit_test(a_throw_leaves_all_frames_down_to_the_catch),
        cmocka_unit_test(an_uncaught_exception_ends_its_thread),
        cmocka_unit_test(a_deep_recursion_needs_no_stack_of_the_host),
        cmocka_unit_test(a_stack_that_is_full_is_said_with_its_place),
        cmocka_unit_test(the_true_timeline_names_the_waker_of_each_wait),
        cmocka_unit_test(a_lock_that_is_free_is_no_wait),
        cmocka_unit_test(a_wait_that_the_run_ends_in_lasts_until_then),
        cmocka_unit_test(the_collector_stops_managed_threads_at_their_next_operation),
        cmocka_unit_test(a_tid_used_again_has_the_next_generation),
        cmocka_unit_test(the_start_of_a_thread_costs_both_threads_and_is_not_in_its_track),
        cmocka_unit_test(a_post_is_a_write_where_it_calls_a_looper),
        cmocka_unit_test(a_call_that_did_not_block_is_in_the_truth_from_2_us_on),
        cmocka_unit_test(a_thread_that_a_post_wakes_may_get_the_core_before_the_write_returns),
        cmocka_unit_test(due_messages_go_by_priority_and_then_in_order),
        cmocka_unit_test(a_vsync_posts_a_frame_each_period_unless_one_waits),
        cmocka_unit_test(calls_nest_and_core_time_adds_up_in_any_schedule),
        cmocka_unit_test(threads_of_other_programs_take_their_share_and_are_in_no_truth),
        cmocka_unit_test(a_seed_determines_the_whole_run),
    };
    return cmocka_run_group_tests_name("runtime", tests, NULL, NULL);
}

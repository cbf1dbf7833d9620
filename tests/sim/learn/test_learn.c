/* What a timeline becomes: small timelines are made by hand, or played, and the learnt scenario has their parts. */
#include "sim/app/scenario.h"
#include "sim/learn/learn.h"
#include "sim/runtime/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MS = 1000000, US = 1000 };

static void open_tracks(struct sim_tracks *t, uint32_t threads)
{
    char name[32];
    sim_tracks_open(t);
    for (uint32_t i = 0; i < threads; i++) {
        snprintf(name, sizeof name, i ? "worker-%u" : "main", i);
        sim_track_add(t, i + 1, 1, name, i == 0, 0);
    }
}

static void make_call(struct sim_tracks *t, uint32_t track, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
    sim_track_call(t, track, begin_ns, sim_tracks_name(t, name), SIM_CALL_METHOD);
    sim_track_return(t, track, end_ns, false);
}

static void make_wait(struct sim_tracks *t, uint32_t track, const char *name, struct sim_wait wait)
{
    sim_track_call(t, track, wait.begin_ns, sim_tracks_name(t, name), SIM_CALL_WAIT);
    sim_track_return(t, track, wait.end_ns, false);
    wait.blocked = true;
    sim_track_wait(t, track, &wait);
}

static struct sim_wait timed_wait(enum strobe_kind kind, uint64_t begin_ns, uint64_t end_ns)
{
    return (struct sim_wait){
        .begin_ns = begin_ns, .end_ns = end_ns, .kind = kind, .waker = SIM_NOBODY, .release_ns = end_ns};
}

/* Learns a scenario of at most so many lines (0: any); the text is the caller's. */
static char *learnt_lines(const struct sim_tracks *t, uint32_t replays, uint32_t lines)
{
    struct sim_learn_options options = {.name = "made", .cores = 2, .replays = replays, .lines = lines};
    struct sim_learnt learnt;
    struct strobe_error error = {""};
    if (sim_learn(t, 1, &options, &learnt, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    char *text = strdup(learnt.text);
    sim_learnt_free(&learnt);
    assert_non_null(text);
    return text;
}

static char *learnt_text(const struct sim_tracks *t, uint32_t replays)
{
    return learnt_lines(t, replays, 0);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("expected '%s' in\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("expected no '%s' in\n%s", part, text);
}

/* A thread that works for 3 ms and sleeps for 7 ms, `rounds` times. */
static void add_sleeper(struct sim_tracks *t, uint32_t track, unsigned rounds)
{
    sim_track_call(t, track, 0, sim_tracks_name(t, "Ui.run"), SIM_CALL_METHOD);
    for (unsigned i = 0; i < rounds; i++) {
        uint64_t at = i * 10ull * MS;
        make_call(t, track, "Ui.work", at, at + 3 * MS);
        make_wait(t, track, "[sleep]", timed_wait(STROBE_KIND_SLEEP, at + 3 * MS, at + 10 * MS));
    }
    sim_track_end(t, track, rounds * 10ull * MS);
}

static void what_repeats_is_a_loop(void **state)
{
    struct sim_tracks t;
    (void)state;
    open_tracks(&t, 1);
    add_sleeper(&t, 0, 50);
    char *text = learnt_text(&t, 0);
    assert_has(text, "method Ui.work {\n    compute 3ms\n}\n");
    assert_has(text, "forever {\n        compute 1ns\n        call Ui.work\n        sleep 7ms\n    }");
    assert_has(text, "thread main main run Ui.run\n");
    free(text);
    sim_tracks_close(&t);
}

static void threads_of_one_kind_are_one_declaration(void **state)
{
    struct sim_tracks t;
    (void)state;
    open_tracks(&t, 4);
    for (uint32_t i = 0; i < 4; i++)
        add_sleeper(&t, i, 20);
    char *text = learnt_text(&t, 0);
    assert_has(text, "thread worker x3 run \"Ui.run#2\"\n");
    assert_has(text, "method \"Ui.run#2\" as Ui.run {");
    free(text);
    sim_tracks_close(&t);
}

/* Two threads that hold one lock for 2 ms each, in turn, so that each waits for the other. */
static void add_convoy(struct sim_tracks *t, unsigned rounds)
{
    uint32_t get = sim_tracks_name(t, "Cache.get"), run = sim_tracks_name(t, "Worker.run");
    for (uint32_t track = 0; track < 2; track++) {
        sim_track_call(t, track, 0, run, SIM_CALL_METHOD);
        for (unsigned i = 0; i < rounds; i++) {
            uint64_t taken = i * 4ull * MS + track * 2 * MS, asked = taken > 1 * MS ? taken - 1 * MS : 0;
            struct sim_wait w = timed_wait(STROBE_KIND_MUTEX, asked, taken);
            w.what = 77;
            w.waker = taken ? (int32_t)(1 - track) : SIM_NOBODY;
            sim_track_call(t, track, asked, get, SIM_CALL_METHOD);
            make_wait(t, track, "[mutex wait]", w);
            make_call(t, track, "Cache.look", taken, taken + 2 * MS);
            sim_track_return(t, track, taken + 2 * MS, false);
        }
        sim_track_end(t, track, rounds * 4ull * MS + 2 * MS);
    }
}

static void a_lock_is_held_where_it_was_waited_for_and_released(void **state)
{
    struct sim_tracks t;
    (void)state;
    open_tracks(&t, 2);
    add_convoy(&t, 40);
    char *text = learnt_text(&t, 0);
    assert_has(text, "mutex mutex_0\n");
    assert_has(text, "method Cache.get {\n    lock mutex_0 {\n        call Cache.look\n    }\n}\n");
    free(text);
    sim_tracks_close(&t);
}

static void alternatives_have_their_weights(void **state)
{
    struct sim_tracks t;
    (void)state;
    open_tracks(&t, 1);
    sim_track_call(&t, 0, 0, sim_tracks_name(&t, "Ui.run"), SIM_CALL_METHOD);
    uint64_t at = 0;
    for (unsigned i = 0; i < 41; i++) {
        make_call(&t, 0, "Ui.often", at, at + 3 * MS);
        at += 3 * MS;
        if (i % 4 == 3)
            make_call(&t, 0, "Ui.seldom", at, at + 1 * MS);
        at += i % 4 == 3 ? 1 * MS : 0;
        make_wait(&t, 0, "[sleep]", timed_wait(STROBE_KIND_SLEEP, at, at + 6 * MS));
        at += 6 * MS;
    }
    sim_track_end(&t, 0, at);
    char *text = learnt_text(&t, 0);
    assert_has(text, "choose { 10 {\n            call Ui.seldom\n        } 31 { } }");
    free(text);
    sim_tracks_close(&t);
}

static void unseen_time_splits_no_call(void **state)
{
    struct sim_tracks t;
    (void)state;
    open_tracks(&t, 1);
    uint32_t run = sim_tracks_name(&t, "Ui.run");
    for (unsigned part = 0; part < 2; part++) {
        sim_track_call(&t, 0, part * 110ull * MS, run, SIM_CALL_METHOD);
        for (unsigned i = 0; i < 10; i++) {
            uint64_t at = part * 110ull * MS + i * 10ull * MS;
            make_call(&t, 0, "Ui.work", at, at + 5 * MS);
            make_wait(&t, 0, "[sleep]", timed_wait(STROBE_KIND_SLEEP, at + 5 * MS, at + 10 * MS));
        }
        sim_track_return(&t, 0, part * 110ull * MS + 100 * MS, false);
        if (part == 0) {
            sim_track_call(&t, 0, 100 * MS, sim_tracks_name(&t, "[unseen]"), SIM_CALL_GAP);
            sim_track_return(&t, 0, 110 * MS, false);
        }
    }
    sim_track_end(&t, 0, 210 * MS);
    char *text = learnt_text(&t, 0);
    assert_has(text, "thread main main run Ui.run\n");
    assert_lacks(text, "Ui.run#2");
    assert_lacks(text, "unseen");
    free(text);
    sim_tracks_close(&t);
}

static void names_of_any_text_read_back(void **state)
{
    struct sim_tracks t;
    char name[400] = "operator\"\\ <\n>(";
    (void)state;
    memset(name + 15, '"', sizeof name - 16);
    name[sizeof name - 1] = 0;
    open_tracks(&t, 1);
    sim_track_call(&t, 0, 0, sim_tracks_name(&t, name), SIM_CALL_METHOD);
    for (unsigned i = 0; i < 10; i++) {
        make_call(&t, 0, name, i * 10ull * MS, i * 10ull * MS + 5 * MS);
        make_wait(&t, 0, "[read]", timed_wait(STROBE_KIND_READ, i * 10ull * MS + 5 * MS, i * 10ull * MS + 10 * MS));
    }
    sim_track_end(&t, 0, 100 * MS);
    char *text = learnt_text(&t, 1);
    struct sim_scenario *s;
    struct strobe_error error;
    assert_int_equal(sim_scenario_parse(text, "learnt", &s, &error), STROBE_OK);
    sim_scenario_free(s);
    free(text);
    sim_tracks_close(&t);
}

static void equal_captures_give_equal_text(void **state)
{
    struct sim_tracks t;
    (void)state;
    open_tracks(&t, 2);
    add_convoy(&t, 60);
    char *one = learnt_text(&t, 2), *other = learnt_text(&t, 2);
    assert_string_equal(one, other);
    free(one);
    free(other);
    sim_tracks_close(&t);
}

static const char played_text[] = "scenario played \"a loop with a lock, reads and messages\"\n"
                                  "duration 600ms\ncores 2\nmutex m\nqueue q vsync 10ms frame Frame\n"
                                  "method Held { compute 100us..300us }\n"
                                  "method Take { lock m { call Held } }\n"
                                  "method Frame { compute 1ms..2ms; call Take }\n"
                                  "method Main { loop q }\n"
                                  "method Run { forever { read 4KiB takes exp(2ms); call Take } }\n"
                                  "thread main main run Main\nthread reader x2 run Run\n";

static void a_replay_of_what_was_played_has_its_statistics(void **state)
{
    struct sim_scenario *s;
    struct sim_run run = {0};
    struct strobe_error error = {""};
    struct sim_learn_options learn = {.name = "again", .cores = 2, .replays = 3};
    struct sim_run_options options = {.seed = 5, .schedule = SIM_FAIR, .costs = sim_costs_default};
    struct sim_learnt learnt;
    (void)state;
    assert_int_equal(sim_scenario_parse(played_text, "played", &s, &error), STROBE_OK);
    assert_int_equal(sim_run_play(&run, s, &options, NULL, &error), STROBE_OK);
    assert_int_equal(sim_learn(&run.truth, 1, &learn, &learnt, &error), STROBE_OK);
    assert_has(learnt.text, " frame Frame\n");
    assert_has(learnt.text, "read 4KiB takes ");
    const struct learn_distances *d = &learnt.distances;
    if (!learnt.is_replayed || d->largest_share > 0.01 || d->wait_error > 0.05 || d->message_error > 0.1)
        fail_msg("share %g, waits %g, messages %g\n%s", d->largest_share, d->wait_error, d->message_error, learnt.text);
    sim_learnt_free(&learnt);
    sim_run_close(&run);
    sim_scenario_free(s);
}

/* Forty methods of 20 us each and one of 4 ms, ten times. */
static void a_brief_scenario_keeps_the_methods_with_time(void **state)
{
    (void)state;
    struct sim_tracks t;
    char name[32];
    open_tracks(&t, 1);
    sim_track_call(&t, 0, 0, sim_tracks_name(&t, "Ui.run"), SIM_CALL_METHOD);
    for (uint64_t round = 0; round < 10; round++) {
        uint64_t at = round * 10 * MS;
        make_call(&t, 0, "Ui.work", at, at + 4 * MS);
        for (uint64_t i = 0; i < 40; i++) {
            snprintf(name, sizeof name, "Tiny.%llu", (unsigned long long)i);
            make_call(&t, 0, name, at + 4 * MS + i * 20 * US, at + 4 * MS + (i + 1) * 20 * US);
        }
        make_wait(&t, 0, "[sleep]", timed_wait(STROBE_KIND_SLEEP, at + 5 * MS, at + 10 * MS));
    }
    sim_track_return(&t, 0, 100 * MS, false);
    sim_track_end(&t, 0, 100 * MS);
    t.end_ns = 100 * MS;
    char *whole = learnt_text(&t, 0), *brief = learnt_lines(&t, 0, 40);
    unsigned lines = 0;
    for (const char *c = brief; *c; c++)
        lines += *c == '\n';
    assert_true(lines <= 40);
    assert_has(whole, "method Tiny.17");
    assert_lacks(brief, "Tiny.17");
    assert_has(brief, "call Ui.work");
    assert_has(brief, "sleep 5ms");
    free(whole);
    free(brief);
    sim_tracks_close(&t);
}

/* Android's loop polls in a native method of MessageQueue.next, and dispatches messages itself. */
static void methods_around_a_poll_are_part_of_the_loop(void **state)
{
    (void)state;
    struct sim_tracks t;
    open_tracks(&t, 1);
    sim_track_call(&t, 0, 0, sim_tracks_name(&t, "Ui.main"), SIM_CALL_METHOD);
    sim_track_call(&t, 0, 0, sim_tracks_name(&t, "Looper.loop"), SIM_CALL_METHOD);
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t at = i * 10 * MS;
        struct sim_wait poll = timed_wait(STROBE_KIND_POLL, at, at + 7 * MS);
        poll.what = 5;
        sim_track_call(&t, 0, at, sim_tracks_name(&t, "Queue.next"), SIM_CALL_METHOD);
        sim_track_call(&t, 0, at, sim_tracks_name(&t, "Queue.pollOnce"), SIM_CALL_METHOD);
        make_wait(&t, 0, "[poll]", poll);
        sim_track_return(&t, 0, at + 7 * MS, false);
        sim_track_return(&t, 0, at + 7 * MS, false);
        make_call(&t, 0, "Ui.draw", at + 7 * MS, at + 10 * MS);
    }
    sim_track_return(&t, 0, 200 * MS, false);
    sim_track_return(&t, 0, 200 * MS, false);
    sim_track_end(&t, 0, 200 * MS);
    t.end_ns = 200 * MS;
    char *text = learnt_text(&t, 0);
    assert_has(text, "call Looper.loop");
    assert_has(text, "loop queue_0");
    assert_has(text, "method Ui.draw");
    assert_lacks(text, "Queue.");
    free(text);
    sim_tracks_close(&t);
}

/* The capture's end cuts a wait for a condition, so its condition is unknown. */
static void a_wait_for_an_unknown_condition_keeps_its_kind(void **state)
{
    (void)state;
    struct sim_tracks t;
    open_tracks(&t, 2);
    add_sleeper(&t, 0, 10);
    sim_track_call(&t, 1, 0, sim_tracks_name(&t, "Pool.run"), SIM_CALL_METHOD);
    make_wait(&t, 1, "[cond wait]", timed_wait(STROBE_KIND_COND, 1 * MS, 100 * MS));
    sim_track_return(&t, 1, 100 * MS, false);
    sim_track_end(&t, 1, 100 * MS);
    char *text = learnt_text(&t, 0);
    assert_has(text, "wait cond_0 holding");
    assert_has(text, "timeout 99ms");
    free(text);
    sim_tracks_close(&t);
}

/* Files are opened one after the other in the first 10 ms; the work of 90 ms follows. */
static void work_after_what_repeats_is_not_left_out(void **state)
{
    (void)state;
    struct sim_tracks t;
    open_tracks(&t, 1);
    sim_track_call(&t, 0, 0, sim_tracks_name(&t, "Tool.main"), SIM_CALL_METHOD);
    for (uint64_t i = 0; i < 5; i++)
        make_wait(&t, 0, "[open]", timed_wait(STROBE_KIND_OPEN, (2 * i + 1) * MS, (2 * i + 2) * MS));
    make_call(&t, 0, "Tool.first", 20 * MS, 50 * MS);
    make_call(&t, 0, "Tool.second", 60 * MS, 95 * MS);
    sim_track_return(&t, 0, 100 * MS, false);
    sim_track_end(&t, 0, 100 * MS);
    t.end_ns = 100 * MS;
    char *text = learnt_text(&t, 0);
    assert_has(text, "call Tool.first");
    assert_has(text, "call Tool.second");
    assert_has(text, "open takes 1ms");
    free(text);
    sim_tracks_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_repeats_is_a_loop),
        cmocka_unit_test(threads_of_one_kind_are_one_declaration),
        cmocka_unit_test(a_lock_is_held_where_it_was_waited_for_and_released),
        cmocka_unit_test(alternatives_have_their_weights),
        cmocka_unit_test(unseen_time_splits_no_call),
        cmocka_unit_test(names_of_any_text_read_back),
        cmocka_unit_test(equal_captures_give_equal_text),
        cmocka_unit_test(a_brief_scenario_keeps_the_methods_with_time),
        cmocka_unit_test(methods_around_a_poll_are_part_of_the_loop),
        cmocka_unit_test(a_wait_for_an_unknown_condition_keeps_its_kind),
        cmocka_unit_test(work_after_what_repeats_is_not_left_out),
        cmocka_unit_test(a_replay_of_what_was_played_has_its_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Planted faults occur where they can, and the engine keeps its invariants: its accounting is consistent, no thread
 * stays stopped, and the app continues. takes: 4 s */
#include "engine/base/error.h"
#include "sim/policy/policy.h"
#include "tests/sim/support/app.h"
#include "tests/sim/support/played.h"
#include "tests/support/temporary.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

static struct played p;

static void play_under(struct sim_tracer *policy, const char *fault, uint64_t seed, enum sim_schedule schedule)
{
    char text[8192];
    struct sim_run_options options = {.seed = seed, .schedule = schedule, .costs = punctual_costs()};
    int bytes =
        snprintf(text, sizeof text, "scenario s \"\"\nduration 60ms\ncores 3\n%s\n%s", fault, app_of_everything);
    assert_true(bytes > 0 && (size_t)bytes < sizeof text);
    play_as(&p, text, policy, &options);
}

static void play_with(const char *fault, uint64_t seed, enum sim_schedule schedule)
{
    play_under(sim_policy_strobe(), fault, seed, schedule);
}

static void check_invariants(const char *fault, uint64_t seed)
{
    struct strobe_error error = {""};
    if (!p.tracer->check(p.tracer, &p.run, &error))
        fail_msg("%s, seed %llu: %s", fault, (unsigned long long)seed, error.text);
}

static uint64_t struck(enum sim_fault_kind kind)
{
    return sim_fault_counts(p.run.faults)[kind];
}

static void invariants_hold_under_each_fault(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < SIM_FAULT_SHORT_WRITE; kind++) {
        char fault[64];
        uint64_t all = 0;
        snprintf(fault, sizeof fault, "fault %s chance 0.2", sim_fault_word((enum sim_fault_kind)kind));
        for (uint64_t seed = 1; seed <= 8; seed++) {
            play_with(fault, seed, seed % 2 ? SIM_FAIR : SIM_ADVERSARIAL);
            check_invariants(fault, seed);
            if (p.run.end != SIM_END_LIMIT && p.run.end != SIM_END_DONE)
                fail_msg("%s, seed %llu: %s", fault, (unsigned long long)seed, p.run.end_why);
            all += struck((enum sim_fault_kind)kind);
            played_close(&p);
        }
        if (all == 0)
            fail_msg("%s never struck", fault);
    }
}

static void invariants_hold_under_all_faults_at_once(void **state)
{
    (void)state;
    char faults[2048];
    size_t used = 0;
    for (unsigned kind = 0; kind < SIM_FAULT_SHORT_WRITE; kind++)
        if (kind != SIM_FAULT_SAMPLER_KILLED)
            used += (size_t)snprintf(faults + used, sizeof faults - used, "fault %s chance 0.05\n",
                                     sim_fault_word((enum sim_fault_kind)kind));
    for (uint64_t seed = 1; seed <= 30; seed++) {
        play_with(faults, seed, seed % 2 ? SIM_FAIR : SIM_ADVERSARIAL);
        check_invariants("all faults", seed);
        played_close(&p);
    }
}

/* ---- the watchdog (S-46) */

static const char busy[] =
    "scenario s \"\"\nduration 1s\ncores 2\n%s\nimage a.so {\nmethod f { compute 500ms }\n}\nthread main main run f\n";

/* Returns the time that main took, in ms. It is 500 when no thread held main up. */
static uint64_t time_of_busy(const char *fault)
{
    char text[1024];
    struct sim_run_options options = {.seed = 3, .costs = punctual_costs()};
    snprintf(text, sizeof text, busy, fault);
    play_as(&p, text, sim_policy_strobe_stops(), &options);
    check_invariants(fault, 3);
    assert_int_equal(p.run.end, SIM_END_DONE);
    uint64_t ms = p.run.truth.tracks[0].end_ns / MS;
    played_close(&p);
    return ms;
}

static void a_thread_that_a_dead_sampler_held_continues(void **state)
{
    (void)state;
    uint64_t alone = time_of_busy(""), held = time_of_busy("fault sampler_killed at 100ms times 1");
    assert_true(alone >= 500 && alone < 510);
    assert_true(held >= 700 && held < 710);
}

static void a_thread_whose_resume_is_lost_continues(void **state)
{
    (void)state;
    uint64_t held = time_of_busy("fault resume_lost at 100ms times 1");
    assert_true(held >= 700 && held < 720);
}

static void a_stalled_sampler_holds_no_thread_longer_than_the_watchdog_permits(void **state)
{
    (void)state;
    uint64_t held = time_of_busy("fault sampler_stall of 400000000 at 100ms times 1");
    assert_true(held >= 700 && held < 720);
}

/* ---- when faults occur */

/* The sampler stops each thread once per ms, which gives each fault enough chances to occur. */
static void play_stops(const char *fault)
{
    play_under(sim_policy_async(MS), fault, 5, SIM_FAIR);
}

static void a_fault_strikes_from_its_time_on_as_often_as_it_may(void **state)
{
    (void)state;
    play_stops("fault suspend_refused at 30ms times 3");
    assert_int_equal(struck(SIM_FAULT_SUSPEND_REFUSED), 3);
    played_close(&p);
    play_stops("fault suspend_refused at 70ms");
    assert_int_equal(struck(SIM_FAULT_SUSPEND_REFUSED), 0);
    played_close(&p);
    play_stops("fault suspend_refused thread gc");
    uint64_t of_gc = struck(SIM_FAULT_SUSPEND_REFUSED);
    played_close(&p);
    play_stops("fault suspend_refused");
    assert_true(struck(SIM_FAULT_SUSPEND_REFUSED) > of_gc);
    played_close(&p);
}

/* A fault that never occurs does not change the run. */
static void a_fault_does_not_change_the_random_draws_of_others(void **state)
{
    (void)state;
    play_with("", 8, SIM_FAIR);
    uint64_t samples = p.reconstruction.samples, events = p.run.truth.tracks[0].event_count;
    played_close(&p);
    play_with("fault exit_before_read chance 0\nfault corrupt_stack chance 0", 8, SIM_FAIR);
    assert_int_equal(p.reconstruction.samples, samples);
    assert_int_equal(p.run.truth.tracks[0].event_count, events);
    played_close(&p);
}

/* ---- files */

static enum strobe_status save_with(const char *fault, const char *folder, struct strobe_error *error)
{
    play_with(fault, 1, SIM_FAIR);
    enum strobe_status status = p.tracer->save(p.tracer, &p.run, folder, error);
    played_close(&p);
    return status;
}

static void a_file_is_whole_or_not_there(void **state)
{
    (void)state;
    struct strobe_error error = {""};
    char folder[TEMPORARY_BYTES], session[TEMPORARY_BYTES + 32], trace[TEMPORARY_BYTES + 32],
        expected[TEMPORARY_BYTES + 128];
    assert_non_null(mkdtemp(temporary_path(folder, "strobe-test-XXXXXX")));
    snprintf(session, sizeof session, "%s/session.strobe", folder);
    snprintf(trace, sizeof trace, "%s/trace.pftrace", folder);
    assert_int_equal(save_with("fault no_space chance 0.1", folder, &error), STROBE_IO);
    snprintf(expected, sizeof expected, "%s: %s", session, strerror(ENOSPC));
    assert_string_equal(error.text, expected);
    assert_int_not_equal(access(session, F_OK), 0);
    assert_int_equal(save_with("fault unwritable", folder, &error), STROBE_IO);
    snprintf(expected, sizeof expected, "%s: %s", session, strerror(EACCES));
    assert_string_equal(error.text, expected);
    assert_int_equal(save_with("fault short_write chance 0.5\nfault write_interrupted chance 0.5", folder, &error),
                     STROBE_OK);
    struct strobe_session s;
    assert_int_equal(strobe_session_open(session, &s), STROBE_OK);
    strobe_session_unmap(&s);
    unlink(session);
    unlink(trace);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invariants_hold_under_each_fault),
        cmocka_unit_test(invariants_hold_under_all_faults_at_once),
        cmocka_unit_test(a_thread_that_a_dead_sampler_held_continues),
        cmocka_unit_test(a_thread_whose_resume_is_lost_continues),
        cmocka_unit_test(a_stalled_sampler_holds_no_thread_longer_than_the_watchdog_permits),
        cmocka_unit_test(a_fault_strikes_from_its_time_on_as_often_as_it_may),
        cmocka_unit_test(a_fault_does_not_change_the_random_draws_of_others),
        cmocka_unit_test(a_file_is_whole_or_not_there),
    };
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}

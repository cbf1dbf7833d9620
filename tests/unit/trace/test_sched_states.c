/* States of threads from scheduling events, in any order: what a slice's arguments say. */
#include "engine/trace/model/sched_states.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define R  STROBE_SCHED_RUNNING
#define RB STROBE_SCHED_RUNNABLE
#define S  STROBE_SCHED_SLEEPING
#define D  STROBE_SCHED_UNINTERRUPTIBLE

static struct strobe_sched_states s;

static int open_states(void **state)
{
    (void)state;
    s = (struct strobe_sched_states){0};
    strobe_sched_states_watch(&s, 5);
    strobe_sched_states_watch(&s, 5);
    strobe_sched_states_watch(&s, 6);
    return 0;
}

static int free_states(void **state)
{
    (void)state;
    strobe_sched_states_free(&s);
    return 0;
}

static void spends(uint32_t tid, uint64_t begin, uint64_t end, uint64_t running, uint64_t runnable, uint64_t sleeping,
                   uint64_t uninterruptible)
{
    uint64_t out[STROBE_SCHED_STATE_COUNT];
    assert_int_equal(strobe_sched_states_between(&s, tid, begin, end, out), 1);
    assert_int_equal(out[R], running);
    assert_int_equal(out[RB], runnable);
    assert_int_equal(out[S], sleeping);
    assert_int_equal(out[D], uninterruptible);
}

static void a_thread_runs_sleeps_is_woken_and_preempted(void **state)
{
    (void)state;
    strobe_sched_states_switch(&s, 100, 1, S, 5);
    strobe_sched_states_switch(&s, 110, 5, S, 6);
    strobe_sched_states_wake(&s, 130, 5);
    strobe_sched_states_wake(&s, 131, 5);
    strobe_sched_states_switch(&s, 140, 6, RB, 5);
    strobe_sched_states_switch(&s, 150, 5, D, 6);
    strobe_sched_states_wake(&s, 200, 9); /* ends the recording */
    assert_int_equal(strobe_sched_states_finish(&s), 1);
    spends(5, 0, 1000, 20, 10, 20, 50);
    spends(5, 105, 135, 5, 5, 20, 0);
    spends(5, 149, 151, 1, 0, 0, 1);
    spends(6, 100, 200, 80, 10, 0, 0);
}

static void the_last_state_lasts_to_the_end_of_the_recording(void **state)
{
    (void)state;
    strobe_sched_states_extend(&s, 300);
    strobe_sched_states_extend(&s, 200);
    strobe_sched_states_switch(&s, 110, 5, S, 6);
    assert_int_equal(strobe_sched_states_finish(&s), 1);
    spends(5, 0, 1000, 0, 0, 190, 0);
    spends(6, 0, 1000, 190, 0, 0, 0);
}

static void time_before_the_first_event_and_after_an_exit_is_not_counted(void **state)
{
    uint64_t out[STROBE_SCHED_STATE_COUNT];
    (void)state;
    strobe_sched_states_switch(&s, 100, 1, S, 5);
    strobe_sched_states_switch(&s, 110, 5, STROBE_SCHED_UNKNOWN, 1);
    strobe_sched_states_switch(&s, 500, 1, S, 2);
    assert_int_equal(strobe_sched_states_finish(&s), 1);
    spends(5, 0, 600, 10, 0, 0, 0);
    assert_int_equal(strobe_sched_states_between(&s, 5, 0, 100, out), 0);
    assert_int_equal(strobe_sched_states_between(&s, 5, 110, 600, out), 0);
    assert_int_equal(strobe_sched_states_between(&s, 5, 105, 105, out), 0);
    assert_int_equal(strobe_sched_states_between(&s, 6, 0, 600, out), 0);
    assert_int_equal(strobe_sched_states_between(&s, 7, 0, 600, out), 0);
}

static void a_wake_of_a_running_thread_changes_nothing(void **state)
{
    (void)state;
    strobe_sched_states_switch(&s, 100, 1, S, 5);
    strobe_sched_states_wake(&s, 105, 5);
    strobe_sched_states_switch(&s, 120, 5, S, 1);
    strobe_sched_states_switch(&s, 130, 1, S, 2);
    assert_int_equal(strobe_sched_states_finish(&s), 1);
    spends(5, 0, 200, 20, 0, 10, 0);
}

static void the_last_switch_to_a_processor_is_found(void **state)
{
    uint64_t at;
    (void)state;
    strobe_sched_states_switch(&s, 100, 1, S, 5);
    strobe_sched_states_switch(&s, 110, 5, S, 1);
    strobe_sched_states_switch(&s, 130, 1, S, 5);
    assert_int_equal(strobe_sched_states_finish(&s), 1);
    assert_int_equal(strobe_sched_states_switched_in(&s, 5, 129, &at), 1);
    assert_int_equal(at, 100);
    assert_int_equal(strobe_sched_states_switched_in(&s, 5, 130, &at), 1);
    assert_int_equal(at, 130);
    assert_int_equal(strobe_sched_states_switched_in(&s, 5, 99, &at), 0);
    assert_int_equal(strobe_sched_states_switched_in(&s, 7, 99, &at), 0);
}

static void texts_and_numbers_of_states_agree(void **state)
{
    static const struct {
        const char *text;
        uint64_t number;
        enum strobe_sched_state is;
    } states[] = {{"R", 0, RB},
                  {"R+", 0x800, RB},
                  {"R+", 0x100, RB},
                  {"S", 1, S},
                  {"D", 2, D},
                  {"D|K", 0x82, D},
                  {"T", 4, S},
                  {"t", 8, S},
                  {"I", 0x402, S},
                  {"P", 0x40, S},
                  {"I", 0x80, S},
                  {"X", 16, STROBE_SCHED_UNKNOWN},
                  {"Z", 32, STROBE_SCHED_UNKNOWN}};
    (void)state;
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        assert_int_equal(strobe_sched_state_of(states[i].text, strlen(states[i].text)), states[i].is);
        assert_int_equal(strobe_sched_state_of_number(states[i].number), states[i].is);
    }
    assert_int_equal(strobe_sched_state_of("", 0), STROBE_SCHED_UNKNOWN);
}

/* Events in any order give the same sums as a walk over each ns. */
static void events_in_any_order_add_up(void **state)
{
    enum { EVENTS = 300, END = 4000 };
    struct {
        uint64_t at;
        int what; /* state after a switch out, R for a switch in, -1 for a wake */
    } events[EVENTS], swap;
    (void)state;
    srand(strobe_trial_seed("test_sched_states"));
    for (int i = 0; i < EVENTS; i++) {
        events[i].at = (uint64_t)(i * (END / EVENTS) + rand() % (END / EVENTS));
        events[i].what = rand() % 5 - 1;
    }
    uint64_t sums[END + 1][STROBE_SCHED_STATE_COUNT];
    int now = STROBE_SCHED_UNKNOWN, next = 0;
    memset(sums[0], 0, sizeof sums[0]);
    for (int t = 0; t < END; t++) {
        for (; next < EVENTS && events[next].at == (uint64_t)t; next++)
            now = events[next].what >= 0 ? events[next].what : now == R ? R : RB;
        memcpy(sums[t + 1], sums[t], sizeof sums[0]);
        if (now != STROBE_SCHED_UNKNOWN)
            sums[t + 1][now]++;
    }
    for (int i = EVENTS - 1; i > 0; i--) {
        int k = rand() % (i + 1);
        swap = events[i], events[i] = events[k], events[k] = swap;
    }
    for (int i = 0; i < EVENTS; i++) {
        if (events[i].what < 0)
            strobe_sched_states_wake(&s, events[i].at, 5);
        else if (events[i].what == R)
            strobe_sched_states_switch(&s, events[i].at, 1, S, 5);
        else
            strobe_sched_states_switch(&s, events[i].at, 5, (enum strobe_sched_state)events[i].what, 1);
    }
    strobe_sched_states_wake(&s, END, 9);
    assert_int_equal(strobe_sched_states_finish(&s), 1);
    for (int i = 0; i < 1000; i++) {
        uint64_t out[STROBE_SCHED_STATE_COUNT], sum = 0;
        int begin = rand() % END, end = begin + 1 + rand() % (END - begin);
        int known = strobe_sched_states_between(&s, 5, (uint64_t)begin, (uint64_t)end, out);
        for (int k = 0; k < STROBE_SCHED_STATE_COUNT; k++)
            sum += sums[end][k] - sums[begin][k];
        assert_int_equal(known, sum > 0);
        for (int k = 0; known && k < STROBE_SCHED_STATE_COUNT; k++)
            assert_int_equal(out[k], sums[end][k] - sums[begin][k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_thread_runs_sleeps_is_woken_and_preempted, open_states, free_states),
        cmocka_unit_test_setup_teardown(the_last_state_lasts_to_the_end_of_the_recording, open_states, free_states),
        cmocka_unit_test_setup_teardown(time_before_the_first_event_and_after_an_exit_is_not_counted, open_states,
                                        free_states),
        cmocka_unit_test_setup_teardown(a_wake_of_a_running_thread_changes_nothing, open_states, free_states),
        cmocka_unit_test_setup_teardown(the_last_switch_to_a_processor_is_found, open_states, free_states),
        cmocka_unit_test_setup_teardown(texts_and_numbers_of_states_agree, open_states, free_states),
        cmocka_unit_test_setup_teardown(events_in_any_order_add_up, open_states, free_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

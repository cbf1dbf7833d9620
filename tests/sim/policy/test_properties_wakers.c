/* Properties S-70 to S-77: which thread ended which wait. Each wait that the engine reports is compared with the true
 * one. Where btrace fails on the same scenario, a test shows that. */
#include "sim/policy/policy.h"
#include "sim/policy/strobe.h"
#include "tests/sim/support/played.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

enum { MAIN = 1 };

static struct played p;

static void play_free(const char *name, struct sim_tracer *tracer)
{
    play_called(&p, name, tracer, &(struct sim_run_options){.seed = 7});
}

static void capture(const char *name, uint64_t seed, enum sim_schedule schedule)
{
    play_called(&p, name, sim_policy_strobe(),
                &(struct sim_run_options){.seed = seed, .schedule = schedule, .costs = sim_costs_default});
    captured(&p);
}

static int end_played(void **state)
{
    (void)state;
    played_close(&p);
    return 0;
}

static uint32_t tid_of(const struct sim_tracks *t, int32_t track)
{
    return track == SIM_NOBODY ? 0 : t->tracks[track].tid;
}

/* Returns the true wait of a reconstructed one. The true wait includes the call's hook, so the reconstructed one begins
 * slightly later, when the hook has read the clock, and ends slightly earlier. */
static const struct sim_wait *true_wait(const struct sim_track *truth, const struct sim_wait *claimed, size_t *from)
{
    for (; *from < truth->wait_count; *from += 1) {
        const struct sim_wait *w = &truth->waits[*from];
        if (w->kind == claimed->kind && w->begin_ns <= claimed->begin_ns && w->end_ns >= claimed->end_ns)
            return w;
        if (w->begin_ns > claimed->end_ns)
            return NULL;
    }
    return NULL;
}

/* Numbers of waits with a waker, of all threads: true ones of at least 100 us, reconstructed ones with the true waker,
 * and reconstructed ones with another waker. */
struct wakers {
    uint32_t in_truth, right, wrong;
};

static void hold_against(const struct sim_track *truth, const struct sim_track *claim, struct wakers *out)
{
    size_t from = 0;
    for (size_t i = 0; i < truth->wait_count; i++)
        out->in_truth +=
            truth->waits[i].waker != SIM_NOBODY && truth->waits[i].end_ns - truth->waits[i].begin_ns >= 100 * US;
    for (size_t i = 0; claim && i < claim->wait_count; i++) {
        const struct sim_wait *c = &claim->waits[i], *t = true_wait(truth, c, &from);
        if (c->waker == SIM_NOBODY || !t) /* the thread found the lock taken, but got it without blocking */
            continue;
        bool same = t && t->waker != SIM_NOBODY && (!c->what || t->what == c->what) &&
                    tid_of(&p.run.truth, t->waker) == tid_of(&p.reconstruction, c->waker);
        *(same ? &out->right : &out->wrong) += 1;
    }
}

static struct wakers wakers(void)
{
    struct wakers out = {0};
    for (size_t i = 0; i < p.run.truth.track_count; i++)
        hold_against(&p.run.truth.tracks[i], track_of(&p.reconstruction, p.run.truth.tracks[i].tid), &out);
    return out;
}

/* Asserts that no waker is wrong and none is missing. Under an adversarial schedule one in a hundred may be wrong or
 * missing. This happens when a wait begins after its releaser checked for waiters and before the release. The releaser
 * is then named for the next wait instead, even when a timeout or an interrupt ends that wait (see
 * engine/capture/blocking.c, and tests/explore, blocking/in-flight). */
static void assert_wakers(uint32_t least)
{
    struct wakers w = wakers();
    uint32_t may_miss = p.run.options.schedule == SIM_FAIR ? 0 : w.in_truth / 100;
    if (w.wrong > may_miss || w.right + may_miss < w.in_truth || w.in_truth < least)
        fail_msg("seed %llu: %u true wakers, %u claimed right, %u wrong", (unsigned long long)p.run.options.seed,
                 w.in_truth, w.right, w.wrong);
}

static void assert_wakers_under_any_schedule(const char *name, uint32_t least)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        if (seed > 1)
            played_close(&p);
        capture(name, seed, seed == 1 ? SIM_FAIR : SIM_ADVERSARIAL);
        assert_wakers(least);
    }
}

/* ---- S-70 */

/* Returns the number of waits of main during which more than one other thread left the monitor. */
static uint32_t waits_with_several_exits(void)
{
    const struct sim_tracks *t = &p.run.truth;
    const struct sim_track *main_track = track_of(t, MAIN);
    uint32_t count = 0;
    for (size_t i = 0; i < main_track->wait_count; i++) {
        const struct sim_wait *w = &main_track->waits[i];
        uint32_t exits = 0;
        for (size_t k = 0; k < t->track_count; k++) {
            const struct sim_track *other = &t->tracks[k];
            for (size_t e = 1; other != main_track && e < other->event_count; e++)
                exits += other->events[e].name == SIM_CALL_END && other->events[e - 1].name == SIM_CALL_END &&
                         other->events[e].time_ns > w->begin_ns && other->events[e].time_ns <= w->end_ns;
        }
        count += exits > 1;
    }
    return count;
}

/* btrace names the last thread that reported (see test_btrace_android.c, and S-71 below). For a lock the last exit is
 * the right one, so btrace does not fail here. */
static void of_several_exits_the_one_that_handed_over_is_the_waker_S70(void **state)
{
    (void)state;
    assert_wakers_under_any_schedule("s_70_three_exits", 100);
    assert_true(waits_with_several_exits() > 100);
}

/* ---- S-71 */

static void the_waker_of_each_waiter_is_its_notifier_S71(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        if (seed > 1)
            played_close(&p);
        capture("s_71_notify_two_waiters", seed, SIM_FAIR);
        assert_wakers(1000);
    }
}

/* In this scenario a notify resumes any waiter, and some waiters resume by themselves. No hook knows which waiter a
 * notify resumes. When two threads notify before either waiter returns, the engine assumes that the longest waiter was
 * resumed first. */
static void where_the_order_is_anybodys_few_are_taken_for_another_S71(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        if (seed > 1)
            played_close(&p);
        capture("s_71_notify_two_waiters", seed, SIM_ADVERSARIAL);
        struct wakers w = wakers();
        assert_true(w.right > 1000 && w.wrong * 20 < w.right);
    }
}

static void btrace_names_main_the_notifier_of_another_S71(void **state)
{
    (void)state;
    play_free("s_71_notify_two_waiters", sim_policy_btrace_android());
    assert_true(wakers().wrong > 0);
}

/* ---- S-72 */

/* Compares each wait and its lock with the truth. Some locks share a bucket of the engine's table. A scenario cannot
 * reuse a lock's address, because its locks exist during the whole run; test_blocking.c, S-72, tests that. */
static void no_wait_is_taken_for_one_of_another_lock_S72(void **state)
{
    (void)state;
    assert_wakers_under_any_schedule("s_72_many_locks", 1000);
}

/* ---- S-73 */

static uint32_t true_wakers_of_any_wait(void)
{
    uint32_t count = 0;
    for (size_t i = 0; i < p.run.truth.track_count; i++)
        for (size_t k = 0; k < p.run.truth.tracks[i].wait_count; k++)
            count += p.run.truth.tracks[i].waits[k].waker != SIM_NOBODY;
    return count;
}

/* assert_wakers states which wakers may be missing. */
static void an_unlock_that_races_the_wait_is_not_missed_S73(void **state)
{
    (void)state;
    enum { SEEDS = 200 };
    uint32_t in_truth = 0, right = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        if (seed > 1)
            played_close(&p);
        capture("s_73_unlock_races_wait", seed, SIM_ADVERSARIAL);
        struct wakers w = wakers();
        if (w.wrong)
            fail_msg("seed %llu: %u wrong wakers", (unsigned long long)seed, w.wrong);
        in_truth += true_wakers_of_any_wait();
        right += w.right;
    }
    assert_true(in_truth > 50 * SEEDS);
    assert_true(right >= in_truth - in_truth / 100);
}

/* ---- S-74 */

/* True when the thread of a track was in a call with this name between these times. */
static bool called_within(const struct sim_track *t, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
    for (size_t i = 0; i < t->event_count; i++) {
        const struct sim_event *e = &t->events[i];
        if (e->name != SIM_CALL_END && e->time_ns > begin_ns && e->time_ns < end_ns &&
            strcmp(p.run.truth.names.texts[e->name], name) == 0)
            return true;
    }
    return false;
}

enum { POKER = 3 };

struct nested {
    uint32_t right, none, wrong, nobody;
};

static struct sim_tracer *with_outer_waits(struct sim_tracer *tracer)
{
    enum { OUTER = 1 }; /* among the locks of the scenario */
    return with_outer_calls(tracer, STROBE_KIND_MONITOR, sim_what(SIM_WHAT_LOCK, OUTER));
}

/* Counts main's outer or inner waits by their wakers: right, wrong, missing, and correctly without one. Outer waits
 * last longer than all inner ones. POKER ends an outer wait when it calls `poke` during it. */
static void count_nested(bool outer, struct nested *out)
{
    const struct sim_track *claim = track_of(&p.reconstruction, MAIN), *truth = track_of(&p.run.truth, MAIN);
    size_t from = 0;
    *out = (struct nested){0};
    for (size_t i = 0; i < claim->wait_count; i++) {
        const struct sim_wait *w = &claim->waits[i], *t;
        uint32_t expected = 0, is = tid_of(&p.reconstruction, w->waker);
        if ((w->end_ns - w->begin_ns > 1500 * US) != outer)
            continue;
        if (!outer)
            expected = (t = true_wait(truth, w, &from)) ? tid_of(&p.run.truth, t->waker) : 0;
        else if (called_within(track_of(&p.run.truth, POKER), "poke", w->begin_ns, w->end_ns))
            expected = POKER;
        *(is != expected && is ? &out->wrong : is ? &out->right : expected ? &out->none : &out->nobody) += 1;
    }
}

static void waits_within_waits_have_each_their_waker_S74(void **state)
{
    (void)state;
    play_free("s_74b_wait_within_wait", with_outer_waits(sim_policy_strobe()));
    captured(&p);
    for (int outer = 0; outer <= 1; outer++) {
        struct nested n;
        count_nested(outer, &n);
        assert_true(n.right > 300);
        assert_int_equal(n.none + n.wrong, 0);
    }
}

static void btrace_forgets_the_outer_wait_for_the_inner_S74(void **state)
{
    (void)state;
    struct nested n;
    play_free("s_74b_wait_within_wait", with_outer_waits(sim_policy_btrace_android()));
    count_nested(true, &n);
    assert_int_equal(n.right, 0);
    assert_true(n.wrong > 300);
}

static void waits_one_after_the_other_have_each_their_waker_S74(void **state)
{
    (void)state;
    assert_wakers_under_any_schedule("s_74_nested_waits", 100);
}

/* ---- S-75 */

static void the_wakers_of_workers_are_the_other_workers_S75(void **state)
{
    (void)state;
    capture("s_75_worker_blocks_worker", 7, SIM_FAIR);
    assert_wakers(250);
    for (uint32_t tid = 2; tid <= 3; tid++) {
        const struct sim_track *t = track_of(&p.reconstruction, tid);
        uint32_t woken = 0;
        for (size_t i = 0; i < t->wait_count; i++)
            woken += tid_of(&p.reconstruction, t->waits[i].waker) == 5 - tid;
        assert_true(woken > 100);
    }
}

static void btrace_shows_their_waits_without_wakers_S75(void **state)
{
    (void)state;
    play_free("s_75_worker_blocks_worker", sim_policy_btrace_android());
    struct wakers w = wakers();
    assert_true(w.in_truth > 300 && track_of(&p.reconstruction, 2)->wait_count > 100);
    assert_int_equal(w.right + w.wrong, 0);
}

/* ---- S-76 */

/* test_btrace_ios.c shows that btrace-ios samples no release in this case. Its traces never name wakers. */
static void locks_that_others_take_meanwhile_hide_nothing_S76(void **state)
{
    (void)state;
    capture("s_76_others_take_locks", 7, SIM_FAIR);
    assert_wakers(90);
}

/* ---- S-77 */

/* Returns the number of main's waits, of `least_ns` or longer, that no other thread ended. */
static uint32_t ended_by_nobody(uint64_t least_ns)
{
    const struct sim_track *t = track_of(&p.run.truth, MAIN);
    uint32_t count = 0;
    for (size_t i = 0; i < t->wait_count; i++)
        count += t->waits[i].what && t->waits[i].blocked && t->waits[i].waker == SIM_NOBODY &&
                 t->waits[i].end_ns < p.run.end_ns && t->waits[i].end_ns - t->waits[i].begin_ns >= least_ns;
    return count;
}

static uint32_t said_to_be_ended_by_nobody(const struct strobe_reader *r)
{
    uint32_t count = 0;
    for (size_t i = 0; i < r->threads[0].woken_count; i++)
        count += r->threads[0].woken[i].waker == STROBE_NO_THREAD;
    return count;
}

static void a_wait_that_timed_out_has_a_record_without_a_waker_S77(void **state)
{
    (void)state;
    assert_wakers_under_any_schedule("s_77_timeouts", 100);
    played_close(&p);
    capture("s_77_timeouts", 7, SIM_FAIR);
    assert_true(ended_by_nobody(100 * US) > 300);
    assert_int_equal(said_to_be_ended_by_nobody(captured(&p)), ended_by_nobody(100 * US));
}

/* The caller cannot distinguish a wait that ended by itself from one that another thread ended, so the session does not
 * state the cause. */
static void an_interrupt_or_a_spurious_wake_has_no_waker_S77(void **state)
{
    (void)state;
    assert_wakers_under_any_schedule("s_77b_signals", 100);
    assert_true(sim_fault_counts(p.run.faults)[SIM_FAULT_SIGNAL_STORM] > 100);
    uint32_t nobody = ended_by_nobody(100 * US);
    assert_true(nobody > 300);
    assert_in_range(said_to_be_ended_by_nobody(captured(&p)), nobody - nobody / 50,
                    ended_by_nobody(0)); /* shorter ones may be recorded, too */
}

static void btrace_names_an_earlier_notifier_S77(void **state)
{
    (void)state;
    play_free("s_77_timeouts", sim_policy_btrace_android());
    assert_true(wakers().wrong > 30);
}

#define PLAYED(test) cmocka_unit_test_teardown(test, end_played)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAYED(of_several_exits_the_one_that_handed_over_is_the_waker_S70),
        PLAYED(the_waker_of_each_waiter_is_its_notifier_S71),
        PLAYED(where_the_order_is_anybodys_few_are_taken_for_another_S71),
        PLAYED(btrace_names_main_the_notifier_of_another_S71),
        PLAYED(no_wait_is_taken_for_one_of_another_lock_S72),
        PLAYED(an_unlock_that_races_the_wait_is_not_missed_S73),
        PLAYED(waits_one_after_the_other_have_each_their_waker_S74),
        PLAYED(waits_within_waits_have_each_their_waker_S74),
        PLAYED(btrace_forgets_the_outer_wait_for_the_inner_S74),
        PLAYED(the_wakers_of_workers_are_the_other_workers_S75),
        PLAYED(btrace_shows_their_waits_without_wakers_S75),
        PLAYED(locks_that_others_take_meanwhile_hide_nothing_S76),
        PLAYED(a_wait_that_timed_out_has_a_record_without_a_waker_S77),
        PLAYED(an_interrupt_or_a_spurious_wake_has_no_waker_S77),
        PLAYED(btrace_names_an_earlier_notifier_S77),
    };
    return cmocka_run_group_tests_name("properties of wakers", tests, NULL, NULL);
}

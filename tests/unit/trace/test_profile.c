/* Self and inclusive times: hand-computed cases, and a comparison with an oracle that evaluates each time. */
#include "engine/trace/report/profile.h"

#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { A, B, C, WAIT, GAP };

static struct strobe_profile p;

static void begin(uint32_t name, uint64_t time_ns, uint64_t cpu_ns)
{
    enum strobe_slice_class class = name == WAIT  ? STROBE_SLICE_WAIT
                                    : name == GAP ? STROBE_SLICE_GAP
                                                  : STROBE_SLICE_FUNCTION;
    strobe_profile_begin(&p, 0, name, class, time_ns, cpu_ns);
}

static void end(uint64_t time_ns, uint64_t cpu_ns)
{
    strobe_profile_end(&p, 0, time_ns, cpu_ns);
}

static void check_method(uint32_t name, uint64_t self, uint64_t total, uint64_t self_cpu, uint64_t total_cpu,
                         uint64_t slices)
{
    assert_true(name < p.method_count);
    assert_int_equal(p.methods[name].self_ns, self);
    assert_int_equal(p.methods[name].total_ns, total);
    assert_int_equal(p.methods[name].self_cpu_ns, self_cpu);
    assert_int_equal(p.methods[name].total_cpu_ns, total_cpu);
    assert_int_equal(p.methods[name].slices, slices);
}

static void self_time_is_what_inner_slices_leave(void **state)
{
    (void)state;
    assert_int_equal(strobe_profile_open(&p, 4), STROBE_OK);
    /* A 100..200, in it B 110..150, in that C 120..130, then B again 160..170. CPU runs at half speed. */
    begin(A, 100, 1000);
    begin(B, 110, 1005);
    begin(C, 120, 1010);
    end(130, 1015);
    end(150, 1025);
    begin(B, 160, 1030);
    end(170, 1035);
    end(200, 1050);
    assert_int_equal(strobe_profile_finish(&p), STROBE_OK);
    check_method(A, 50, 100, 25, 50, 1);
    check_method(B, 40, 50, 20, 25, 2);
    check_method(C, 10, 10, 5, 5, 1);
    assert_int_equal(p.threads[0].first_ns, 100);
    assert_int_equal(p.threads[0].last_ns, 200);
    assert_int_equal(p.threads[0].cpu_ns, 50);
    assert_int_equal(p.threads[0].seen_ns, 100);
    assert_int_equal(p.unmatched, 0);
    strobe_profile_close(&p);
}

/* A called B, which called A, which called C. */
static void cpu_time_of_shares_takes_the_place_of_that_of_slices(void **state)
{
    (void)state;
    strobe_profile_open(&p, 4);
    p.has_shares = 1;
    begin(A, 0, 0);
    begin(B, 10, 10);
    end(20, 20);
    end(100, 100);
    strobe_profile_cpu(&p, (uint32_t[]){C, A, B, A}, 4, 7);
    strobe_profile_cpu(&p, (uint32_t[]){A}, 1, 20);
    strobe_profile_finish(&p);
    check_method(A, 90, 100, 20, 27, 1);
    check_method(B, 10, 10, 0, 7, 1);
    check_method(C, 0, 0, 7, 7, 0);
    assert_int_equal(p.threads[0].cpu_ns, 100);
    strobe_profile_close(&p);
}

static void recursion_is_counted_once_for_inclusive_time(void **state)
{
    (void)state;
    strobe_profile_open(&p, 4);
    begin(A, 0, 0);
    begin(B, 10, 0);
    begin(A, 20, 0);
    begin(A, 30, 0);
    end(40, 0);
    end(50, 0);
    end(60, 0);
    end(100, 0);
    strobe_profile_finish(&p);
    check_method(A, 80, 100, 0, 0, 3);
    check_method(B, 20, 50, 0, 0, 1);
    strobe_profile_close(&p);
}

static void waits_and_unseen_time_are_no_method_s_self_time(void **state)
{
    (void)state;
    strobe_profile_open(&p, 4);
    begin(A, 0, 0);
    begin(WAIT, 10, 0);
    end(40, 0);
    begin(GAP, 60, 0);
    end(90, 0);
    end(100, 0);
    strobe_profile_finish(&p);
    check_method(A, 40, 100, 0, 0, 1);
    assert_int_equal(p.threads[0].wait_ns, 30);
    assert_int_equal(p.threads[0].gap_ns, 30);
    assert_int_equal(p.threads[0].seen_ns, 40);
    assert_int_equal(p.wait_count, 1);
    assert_int_equal(p.waits[0].duration_ns, 30);
    assert_int_equal(p.waits[0].begin_ns, 10);
    assert_int_equal(p.waits[0].method, A);
    strobe_profile_close(&p);
}

static void the_longest_waits_are_kept_longest_first(void **state)
{
    (void)state;
    static const uint64_t lasted[] = {5, 9, 1, 7, 9, 3, 8};
    strobe_profile_open(&p, 3);
    uint64_t now = 0;
    for (unsigned i = 0; i < 7; i++) {
        begin(WAIT, now, 0);
        now += lasted[i];
        struct strobe_profile_wait *kept = strobe_profile_end(&p, 0, now, 0);
        if (kept)
            kept->arg = i;
    }
    strobe_profile_finish(&p);
    assert_int_equal(p.wait_count, 3);
    assert_int_equal(p.waits[0].duration_ns, 9);
    assert_int_equal(p.waits[0].arg, 1);
    assert_int_equal(p.waits[1].duration_ns, 9);
    assert_int_equal(p.waits[1].arg, 4);
    assert_int_equal(p.waits[2].duration_ns, 8);
    assert_int_equal(p.waits[2].arg, 6);
    strobe_profile_close(&p);
}

static void what_does_not_match_is_counted_and_ended(void **state)
{
    (void)state;
    strobe_profile_open(&p, 3);
    end(5, 0);
    strobe_profile_end(&p, 77, 5, 0);
    begin(A, 10, 0);
    begin(B, 20, 0);
    end(15, 0); /* earlier than its begin: held at it */
    begin(C, 30, 0);
    assert_int_equal(strobe_profile_finish(&p), STROBE_OK);
    assert_int_equal(p.unmatched, 4);
    check_method(A, 20, 20, 0, 0, 1);
    check_method(B, 0, 0, 0, 0, 1);
    strobe_profile_close(&p);
}

/* A random timeline of two threads. The oracle computes it for each time. */
enum { TICKS = 600, NAMES = 6, DEEP = 12 };

struct truth {
    uint64_t self[NAMES], total[NAMES], self_cpu[NAMES], total_cpu[NAMES];
};

static void count_instant(struct truth *t, const uint32_t *stack, uint32_t depth, uint64_t cpu)
{
    for (uint32_t name = 0; name < NAMES; name++) {
        int there = 0;
        for (uint32_t i = 0; i < depth; i++)
            there |= stack[i] == name;
        t->total[name] += (uint64_t)there;
        t->total_cpu[name] += there ? cpu : 0;
    }
    if (depth) {
        t->self[stack[depth - 1]]++;
        t->self_cpu[stack[depth - 1]] += cpu;
    }
}

static void a_random_timeline_adds_up_as_instant_by_instant(void **state)
{
    (void)state;
    uint64_t random = strobe_trial_seed("test_profile");
    for (uint32_t round = strobe_trial_rounds(60); round; round--) {
        uint32_t stack[2][DEEP], depth[2] = {0, 0};
        uint64_t cpu[2] = {0, 0};
        struct truth truth = {{0}, {0}, {0}, {0}};
        strobe_profile_open(&p, 1);
        for (uint64_t now = 0; now < TICKS; now++) {
            for (uint32_t t = 0; t < 2; t++) {
                for (uint32_t n = strobe_trial_below(&random, 3); n && depth[t]; n--, depth[t]--)
                    strobe_profile_end(&p, t, now, cpu[t]);
                for (uint32_t n = strobe_trial_below(&random, 3); n && depth[t] < DEEP; n--) {
                    stack[t][depth[t]] = strobe_trial_below(&random, NAMES);
                    strobe_profile_begin(&p, t, stack[t][depth[t]++], STROBE_SLICE_FUNCTION, now, cpu[t]);
                }
                uint64_t used = strobe_trial_below(&random, 2);
                count_instant(&truth, stack[t], depth[t], used);
                cpu[t] += used;
            }
        }
        for (uint32_t t = 0; t < 2; t++)
            for (; depth[t]; depth[t]--)
                strobe_profile_end(&p, t, TICKS, cpu[t]);
        assert_int_equal(strobe_profile_finish(&p), STROBE_OK);
        assert_int_equal(p.unmatched, 0);
        for (uint32_t name = 0; name < NAMES; name++) {
            assert_int_equal(p.methods[name].self_ns, truth.self[name]);
            assert_int_equal(p.methods[name].total_ns, truth.total[name]);
            assert_int_equal(p.methods[name].self_cpu_ns, truth.self_cpu[name]);
            assert_int_equal(p.methods[name].total_cpu_ns, truth.total_cpu[name]);
        }
        strobe_profile_close(&p);
    }
}

static void depth_without_end_is_borne(void **state)
{
    (void)state;
    strobe_profile_open(&p, 1);
    for (uint32_t i = 0; i < 10000; i++)
        begin(A, i, 0);
    for (uint32_t i = 0; i < 10000; i++)
        end(10000 + i, 0);
    assert_int_equal(strobe_profile_finish(&p), STROBE_OK);
    assert_int_equal(p.unmatched, 0);
    assert_int_equal(p.methods[A].total_ns, 19999);
    strobe_profile_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(self_time_is_what_inner_slices_leave),
        cmocka_unit_test(recursion_is_counted_once_for_inclusive_time),
        cmocka_unit_test(cpu_time_of_shares_takes_the_place_of_that_of_slices),
        cmocka_unit_test(waits_and_unseen_time_are_no_method_s_self_time),
        cmocka_unit_test(the_longest_waits_are_kept_longest_first),
        cmocka_unit_test(what_does_not_match_is_counted_and_ended),
        cmocka_unit_test(a_random_timeline_adds_up_as_instant_by_instant),
        cmocka_unit_test(depth_without_end_is_borne),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

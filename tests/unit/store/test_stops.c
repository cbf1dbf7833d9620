/* Statistics of the lengths of stops: the results equal those of sorting all lengths. */
#include "engine/store/stops.h"

#include "engine/base/mix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdlib.h>
#include <cmocka.h>

enum { LENGTHS = 5000 };

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Right to a sixteenth, and to the tick where lengths are counted singly. */
static void assert_close(uint64_t estimate, uint64_t exact)
{
    uint64_t far = exact / 16;
    assert_in_range(estimate, exact - far, exact + far);
}

static void assert_like_sorted(uint64_t *lengths, size_t count)
{
    struct strobe_stops s = {0};
    for (size_t i = 0; i < count; i++)
        strobe_stops_add(&s, lengths[i]);
    qsort(lengths, count, sizeof *lengths, ascending);
    struct strobe_stop_times t = strobe_stops_read(&s);
    assert_int_equal(t.count, count);
    assert_close(t.median, lengths[(count + 1) / 2 - 1]);
    assert_close(t.percentile_99, lengths[count - count / 100 - 1]);
    assert_int_equal(t.longest, lengths[count - 1]);
}

static void an_empty_histogram_reports_nothing(void **state)
{
    (void)state;
    const struct strobe_stops s = {0};
    struct strobe_stop_times t = strobe_stops_read(&s);
    assert_true(t.count == 0 && t.median == 0 && t.percentile_99 == 0 && t.longest == 0);
}

static void median_and_percentile_are_those_of_the_sorted_lengths(void **state)
{
    (void)state;
    static uint64_t lengths[LENGTHS];
    for (uint64_t seed = 1; seed <= 20; seed++) {
        for (size_t i = 0; i < LENGTHS; i++) {
            uint64_t random = strobe_mix64(seed << 32 | i);
            lengths[i] = random >> (34 + random % 30); /* of all magnitudes below 2^30 */
        }
        assert_like_sorted(lengths, 1 + (size_t)(strobe_mix64(seed) % LENGTHS));
        assert_like_sorted(lengths, (size_t)seed);
    }
}

static void each_length_alone_is_reported_as_itself(void **state)
{
    (void)state;
    for (uint64_t ticks = 0; ticks < 100000; ticks += 1 + ticks / 100) {
        struct strobe_stops s = {0};
        strobe_stops_add(&s, ticks);
        struct strobe_stop_times t = strobe_stops_read(&s);
        assert_close(t.median, ticks);
        assert_true(t.median <= ticks);
        assert_int_equal(t.longest, ticks);
    }
}

static void a_longer_stop_is_never_reported_as_a_shorter_one(void **state)
{
    (void)state;
    uint64_t before = 0;
    for (uint64_t ticks = 1; ticks < (uint64_t)1 << 40; ticks += 1 + ticks / 50) {
        struct strobe_stops s = {0};
        strobe_stops_add(&s, ticks);
        strobe_stops_add(&s, UINT64_MAX);
        uint64_t median = strobe_stops_read(&s).median;
        assert_true(median >= before);
        before = median;
    }
}

static void stops_of_any_length_are_counted(void **state)
{
    (void)state;
    struct strobe_stops s = {0};
    const uint64_t lengths[] = {UINT64_MAX, (uint64_t)1 << 32, (uint64_t)1 << 63, UINT32_MAX};
    for (size_t i = 0; i < 4; i++)
        strobe_stops_add(&s, lengths[i]);
    struct strobe_stop_times t = strobe_stops_read(&s);
    assert_int_equal(t.count, 4);
    assert_true(t.median == UINT64_MAX && t.longest == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_histogram_reports_nothing),
        cmocka_unit_test(median_and_percentile_are_those_of_the_sorted_lengths),
        cmocka_unit_test(each_length_alone_is_reported_as_itself),
        cmocka_unit_test(a_longer_stop_is_never_reported_as_a_shorter_one),
        cmocka_unit_test(stops_of_any_length_are_counted),
    };
    return cmocka_run_group_tests_name("stops", tests, NULL, NULL);
}

/* The messages of a queue: their order, and how many comparisons one message costs. */
#include "sim/runtime/message_heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MESSAGES = 1 << 14, LEVELS = 14 };

static uint64_t comparisons;

static bool counted_is_earlier(const struct sim_message *a, const struct sim_message *b)
{
    comparisons++;
    return sim_message_is_earlier(a, b);
}

/* Puts MESSAGES messages whose times are given by `due`, takes them all, and checks order and comparisons. */
static void assert_each_costs_a_logarithm(uint64_t due(uint32_t i))
{
    struct sim_message_heap h = {.at = malloc(MESSAGES * sizeof *h.at), .room = MESSAGES};
    uint64_t last_ns = 0;
    assert_non_null(h.at);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct sim_message m = {.due_ns = due(i), .serial = i + 1};
        comparisons = 0;
        sim_message_heap_add(&h, &m, counted_is_earlier);
        assert_true(comparisons <= LEVELS);
    }
    while (h.count) {
        comparisons = 0;
        struct sim_message m = sim_message_heap_take(&h, counted_is_earlier);
        assert_true(comparisons <= 2 * LEVELS);
        assert_true(m.due_ns >= last_ns);
        last_ns = m.due_ns;
    }
    free(h.at);
}

static uint64_t in_order(uint32_t i)
{
    return i;
}

static uint64_t backwards(uint32_t i)
{
    return MESSAGES - i;
}

static uint64_t mixed(uint32_t i)
{
    return i * 2654435761u % MESSAGES;
}

/* A heap of 2^n messages has n levels below its first message. */
static void a_message_costs_the_logarithm_of_how_many_wait(void **state)
{
    (void)state;
    assert_each_costs_a_logarithm(in_order);
    assert_each_costs_a_logarithm(backwards);
    assert_each_costs_a_logarithm(mixed);
}

static void a_message_does_not_run_before_its_time(void **state)
{
    struct sim_message due[4], later[4], m;
    struct sim_messages q = {.due = {.at = due, .room = 4}, .later = {.at = later, .room = 4}};
    (void)state;
    sim_messages_put(&q, (struct sim_message){.due_ns = 20, .method = 2}, 10);
    sim_messages_put(&q, (struct sim_message){.due_ns = 10, .method = 1}, 10);
    assert_true(sim_messages_take(&q, 19, &m));
    assert_int_equal(m.method, 1);
    assert_false(sim_messages_take(&q, 19, &m));
    assert_true(sim_messages_take(&q, 20, &m));
    assert_int_equal(m.method, 2);
}

static void due_messages_run_by_priority_then_time_then_order(void **state)
{
    struct sim_message due[4], later[4], m;
    struct sim_messages q = {.due = {.at = due, .room = 4}, .later = {.at = later, .room = 4}};
    static const uint32_t expected[] = {4, 2, 1, 3};
    (void)state;
    sim_messages_put(&q, (struct sim_message){.due_ns = 7, .method = 1}, 10);
    sim_messages_put(&q, (struct sim_message){.due_ns = 5, .method = 2}, 10);
    sim_messages_put(&q, (struct sim_message){.due_ns = 7, .method = 3}, 10);
    sim_messages_put(&q, (struct sim_message){.due_ns = 30, .method = 4, .priority = 5}, 10);
    for (size_t i = 0; i < 4; i++) {
        assert_true(sim_messages_take(&q, 30, &m));
        assert_int_equal(m.method, expected[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_costs_the_logarithm_of_how_many_wait),
        cmocka_unit_test(a_message_does_not_run_before_its_time),
        cmocka_unit_test(due_messages_run_by_priority_then_time_then_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

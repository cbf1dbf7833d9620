/* The ring of captured stacks of method pointers: its content, its order, and its reports of missing captures. */
#include "engine/method/netease/netease_ring.h"

#include "engine/base/mix.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FRAMES = 8 };

static struct strobe_netease_ring ring_new(uint32_t capacity)
{
    struct strobe_netease_ring ring;
    size_t bytes = strobe_netease_ring_bytes(capacity, FRAMES);
    void *memory = calloc(1, bytes);
    assert_non_null(memory);
    strobe_netease_ring_create(memory, capacity, FRAMES);
    assert_int_equal(strobe_netease_ring_open(memory, bytes, &ring), STROBE_OK);
    return ring;
}

static void ring_free(struct strobe_netease_ring *ring)
{
    free(ring->head);
}

/* Capture `i` of thread i + 1, at 100 * i, of `count` frames. */
static enum strobe_status put(const struct strobe_netease_ring *ring, uint64_t i, uint32_t count, uint64_t *number)
{
    uint64_t frames[64];
    struct strobe_netease_capture c = {.ticks = 100 * i, .tid = (uint32_t)i + 1};
    for (uint32_t k = 0; k < count; k++)
        frames[k] = strobe_mix64(i) + k;
    return strobe_netease_ring_put(ring, &c, frames, count, number);
}

static void assert_capture(const struct strobe_netease_capture *c, const uint64_t *frames, uint64_t i, uint32_t given)
{
    uint32_t count = given < FRAMES ? given : FRAMES;
    assert_int_equal(c->ticks, 100 * i);
    assert_int_equal(c->tid, i + 1);
    assert_int_equal(c->count, count);
    assert_int_equal(c->cut, given > FRAMES);
    for (uint32_t k = 0; k < count; k++)
        assert_int_equal(frames[k], strobe_mix64(i) + given - count + k);
}

static void a_capture_comes_back_as_it_was_put(void **state)
{
    (void)state;
    struct strobe_netease_ring ring = ring_new(4);
    struct strobe_netease_capture c, cut = {.ticks = UINT64_MAX, .tid = UINT32_MAX, .cut = true};
    uint64_t frames[FRAMES] = {0}, number;
    for (uint32_t count = 0; count < 4; count++) {
        assert_int_equal(put(&ring, count, count, &number), STROBE_OK);
        assert_int_equal(number, count);
        assert_int_equal(strobe_netease_ring_read(&ring, number, &c, frames), STROBE_OK);
        assert_capture(&c, frames, count, count);
    }
    assert_int_equal(strobe_netease_ring_put(&ring, &cut, frames, 2, &number), STROBE_OK);
    assert_int_equal(strobe_netease_ring_read(&ring, number, &c, frames), STROBE_OK);
    assert_true(c.ticks == UINT64_MAX && c.tid == UINT32_MAX && c.cut && c.count == 2);
    ring_free(&ring);
}

static void depth_over_the_cap_is_cut_at_the_root_end_and_flagged(void **state)
{
    (void)state;
    struct strobe_netease_ring ring = ring_new(64);
    struct strobe_netease_capture c;
    uint64_t frames[FRAMES], number;
    for (uint32_t count = FRAMES - 1; count <= FRAMES + 20; count++) {
        assert_int_equal(put(&ring, count, count, &number), STROBE_OK);
        assert_int_equal(strobe_netease_ring_read(&ring, number, &c, frames), STROBE_OK);
        assert_capture(&c, frames, count, count); /* keeps the innermost frames */
    }
    ring_free(&ring);
}

/* For each capacity and number of captures, checks the number of overwritten ones, and the list of the others,
 * newest first. */
static void overwritten_is_what_is_more_than_the_capacity(void **state)
{
    (void)state;
    for (uint32_t capacity = 1; capacity <= 7; capacity++) {
        struct strobe_netease_ring ring = ring_new(capacity);
        for (uint64_t drawn = 0; drawn < 30; drawn++) {
            struct strobe_netease_list list;
            struct strobe_netease_capture c;
            uint64_t frames[FRAMES], number, expected = drawn;
            uint64_t overwritten = drawn > capacity ? drawn - capacity : 0;
            assert_int_equal(strobe_netease_ring_drawn(&ring), drawn);
            assert_int_equal(strobe_netease_ring_overwritten(&ring), overwritten);
            strobe_netease_list_begin(&ring, &list);
            while (strobe_netease_list_next(&ring, &list, &c, frames)) {
                assert_int_equal(c.number, --expected);
                assert_capture(&c, frames, c.number, (uint32_t)c.number % 12);
            }
            assert_int_equal(expected, overwritten);
            assert_true(list.gone == 0 && list.missing == 0);
            for (uint64_t i = 0; i < overwritten; i++)
                assert_int_equal(strobe_netease_ring_read(&ring, i, &c, frames), STROBE_GONE);
            assert_int_equal(strobe_netease_ring_read(&ring, drawn, &c, frames), STROBE_NO_ENTRY);
            assert_int_equal(put(&ring, drawn, (uint32_t)drawn % 12, &number), STROBE_OK);
        }
        ring_free(&ring);
    }
}

/* A list that began before the ring's writers lapped it reports what it missed. */
static void a_lapped_reader_is_notified(void **state)
{
    (void)state;
    struct strobe_netease_ring ring = ring_new(4);
    struct strobe_netease_list list;
    struct strobe_netease_capture c;
    uint64_t frames[FRAMES], number;
    for (uint64_t i = 0; i < 6; i++)
        put(&ring, i, 1, &number);
    strobe_netease_list_begin(&ring, &list);
    assert_true(strobe_netease_list_next(&ring, &list, &c, frames));
    assert_int_equal(c.number, 5);
    for (uint64_t i = 6; i < 8; i++)
        put(&ring, i, 1, &number);
    assert_true(strobe_netease_list_next(&ring, &list, &c, frames));
    assert_int_equal(c.number, 4);
    assert_false(strobe_netease_list_next(&ring, &list, &c, frames));
    assert_true(list.gone == 2 && list.missing == 0);
    ring_free(&ring);
}

/* Leaves a place as a sampler that stopped in the middle of a capture (netease_ring.h). */
static void stop_in_the_middle(const struct strobe_netease_ring *ring, uint64_t number)
{
    size_t words = (strobe_netease_ring_bytes(2, FRAMES) - strobe_netease_ring_bytes(1, FRAMES)) / sizeof(uint64_t);
    strobe_store_relaxed(&ring->places[number % ring->head->capacity * words], (number + 1) << 1 | 1);
}

static void a_sampler_that_stopped_costs_one_capture_in_each_lap(void **state)
{
    (void)state;
    struct strobe_netease_ring ring = ring_new(3);
    struct strobe_netease_list list;
    struct strobe_netease_capture c;
    uint64_t frames[FRAMES], number, read = 0;
    for (uint64_t i = 0; i < 2; i++)
        put(&ring, i, 1, &number);
    stop_in_the_middle(&ring, 1);
    assert_int_equal(strobe_netease_ring_read(&ring, 1, &c, frames), STROBE_NO_ENTRY);
    for (uint64_t i = 2; i < 11; i++)
        assert_int_equal(put(&ring, i, 1, &number), i % 3 == 1 ? STROBE_FULL : STROBE_OK);
    assert_int_equal(strobe_load_relaxed(&ring.head->refused), 3);
    strobe_netease_list_begin(&ring, &list);
    while (strobe_netease_list_next(&ring, &list, &c, frames))
        read++;
    assert_true(read == 2 && list.missing == 1 && list.gone == 0);
    assert_int_equal(read + list.missing + strobe_netease_ring_overwritten(&ring), strobe_netease_ring_drawn(&ring));
    assert_int_equal(strobe_netease_ring_read(&ring, 1, &c, frames), STROBE_GONE);
    ring_free(&ring);
}

static void a_header_that_does_not_fit_its_memory_is_refused(void **state)
{
    (void)state;
    struct strobe_netease_ring ring;
    size_t bytes = strobe_netease_ring_bytes(5, FRAMES);
    struct strobe_netease_head *head = calloc(1, bytes);
    assert_non_null(head);
    assert_int_equal(strobe_netease_ring_open(head, bytes, &ring), STROBE_BAD_INPUT);
    strobe_netease_ring_create(head, 5, FRAMES);
    assert_int_equal(strobe_netease_ring_open(head, bytes, &ring), STROBE_OK);
    assert_int_equal(strobe_netease_ring_open(head, bytes - 1, &ring), STROBE_BAD_INPUT);
    assert_int_equal(strobe_netease_ring_open(head, sizeof *head - 1, &ring), STROBE_BAD_INPUT);
    head->frames = STROBE_NETEASE_FRAMES_MAX + 1;
    assert_int_equal(strobe_netease_ring_open(head, SIZE_MAX, &ring), STROBE_BAD_INPUT);
    head->frames = 1;
    head->capacity = STROBE_NETEASE_CAPACITY_MAX + 1;
    assert_int_equal(strobe_netease_ring_open(head, SIZE_MAX, &ring), STROBE_BAD_INPUT);
    assert_int_equal(strobe_netease_ring_bytes(0, 1), 0);
    assert_int_equal(strobe_netease_ring_bytes(1, 0), 0);
    free(head);
}

/* ---- several at once */

enum { SAMPLERS = 3, ROUNDS = 4000 };

struct crowd {
    struct strobe_netease_ring ring;
    strobe_a32 living, refused;
};

static void *sample(void *ctx)
{
    struct crowd *m = ctx;
    uint64_t number;
    for (uint64_t i = 0; i < ROUNDS; i++)
        if (put(&m->ring, i, (uint32_t)i % 12, &number) != STROBE_OK)
            strobe_add_relaxed(&m->refused, 1u);
    strobe_add_relaxed(&m->living, ~0u);
    return NULL;
}

static void captures_read_while_several_samplers_write_are_whole(void **state)
{
    (void)state;
    struct crowd m = {.ring = ring_new(4), .living = SAMPLERS};
    pthread_t thread[SAMPLERS];
    for (uint32_t i = 0; i < SAMPLERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, sample, &m), 0);
    for (bool over = false; !over;) {
        struct strobe_netease_list list;
        struct strobe_netease_capture c;
        uint64_t frames[FRAMES];
        over = !strobe_load_relaxed(&m.living);
        strobe_netease_list_begin(&m.ring, &list);
        while (strobe_netease_list_next(&m.ring, &list, &c, frames))
            assert_capture(&c, frames, c.tid - 1, (c.tid - 1) % 12);
    }
    for (uint32_t i = 0; i < SAMPLERS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(strobe_netease_ring_drawn(&m.ring), SAMPLERS * ROUNDS);
    assert_int_equal(strobe_load_relaxed(&m.ring.head->refused), strobe_load_relaxed(&m.refused));
    ring_free(&m.ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_comes_back_as_it_was_put),
        cmocka_unit_test(depth_over_the_cap_is_cut_at_the_root_end_and_flagged),
        cmocka_unit_test(overwritten_is_what_is_more_than_the_capacity),
        cmocka_unit_test(a_lapped_reader_is_notified),
        cmocka_unit_test(a_sampler_that_stopped_costs_one_capture_in_each_lap),
        cmocka_unit_test(a_header_that_does_not_fit_its_memory_is_refused),
        cmocka_unit_test(captures_read_while_several_samplers_write_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

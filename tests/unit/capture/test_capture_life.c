/* The life cycle of captures that the backends share: the state word, and the memory of the last two captures. */
#include "engine/backend/common/capture_life.h"
#include "engine/backend/common/capture_memory.h"
#include "tests/unit/support/temp_dir.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static strobe_a32 life;

static int reset_life(void **state)
{
    (void)state;
    strobe_store_relaxed(&life, STROBE_LIFE_IDLE);
    return 0;
}

static void assert_start_is_refused(const char *text)
{
    struct strobe_error error = {""};
    uint32_t before = strobe_load_relaxed(&life);
    assert_int_equal(strobe_life_claim_start(&life, &error), STROBE_EXISTS);
    assert_string_equal(error.text, text);
    assert_int_equal(strobe_load_relaxed(&life), before);
}

/* ---- the state word ---- */

enum { STARTERS = 4, ROUNDS = 500 };
static pthread_barrier_t round_begins;

static void *claim_starts(void *claimed)
{
    uint32_t *count = claimed;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&round_begins);
        bool mine = strobe_life_claim_start(&life, NULL) == STROBE_OK;
        pthread_barrier_wait(&round_begins);
        *count += mine;
        if (mine)
            strobe_life_conclude_start(&life, STROBE_IO, true);
    }
    return NULL;
}

static void of_several_starts_exactly_one_succeeds(void **state)
{
    (void)state;
    pthread_t threads[STARTERS];
    uint32_t claimed[STARTERS] = {0}, all = 0;
    pthread_barrier_init(&round_begins, NULL, STARTERS);
    for (int i = 0; i < STARTERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, claim_starts, &claimed[i]), 0);
    for (int i = 0; i < STARTERS; i++) {
        pthread_join(threads[i], NULL);
        all += claimed[i];
    }
    pthread_barrier_destroy(&round_begins);
    assert_int_equal(all, ROUNDS);
}

static void a_start_is_refused_until_the_capture_has_stopped(void **state)
{
    (void)state;
    assert_int_equal(strobe_life_claim_start(&life, NULL), STROBE_OK);
    assert_start_is_refused("a capture is under way");
    strobe_life_conclude_start(&life, STROBE_OK, true);
    assert_start_is_refused("a capture is under way");
    assert_true(strobe_life_claim_stop(&life));
    assert_start_is_refused("a capture is under way");
    strobe_life_conclude_stop(&life, true);
    assert_int_equal(strobe_life_claim_start(&life, NULL), STROBE_OK);
}

static void a_stop_does_nothing_unless_a_capture_runs(void **state)
{
    (void)state;
    static const uint32_t others[] = {STROBE_LIFE_IDLE, STROBE_LIFE_STARTING, STROBE_LIFE_STOPPING, STROBE_LIFE_STUCK};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        strobe_store_relaxed(&life, others[i]);
        assert_false(strobe_life_claim_stop(&life));
        assert_int_equal(strobe_load_relaxed(&life), others[i]);
    }
}

static void a_running_capture_is_stopped_once(void **state)
{
    (void)state;
    assert_int_equal(strobe_life_claim_start(&life, NULL), STROBE_OK);
    strobe_life_conclude_start(&life, STROBE_OK, false);
    assert_true(strobe_life_claim_stop(&life));
    assert_false(strobe_life_claim_stop(&life));
}

static void after_a_start_that_failed_another_may_start(void **state)
{
    (void)state;
    assert_int_equal(strobe_life_claim_start(&life, NULL), STROBE_OK);
    strobe_life_conclude_start(&life, STROBE_IO, true);
    assert_false(strobe_life_claim_stop(&life));
    assert_int_equal(strobe_life_claim_start(&life, NULL), STROBE_OK);
}

static void a_failed_start_whose_threads_have_not_ended_refuses_every_start(void **state)
{
    (void)state;
    assert_int_equal(strobe_life_claim_start(&life, NULL), STROBE_OK);
    strobe_life_conclude_start(&life, STROBE_IO, false);
    assert_start_is_refused("the last capture's threads have not ended");
}

static void a_stop_whose_threads_have_not_ended_refuses_every_start(void **state)
{
    (void)state;
    assert_int_equal(strobe_life_claim_start(&life, NULL), STROBE_OK);
    strobe_life_conclude_start(&life, STROBE_OK, true);
    assert_true(strobe_life_claim_stop(&life));
    strobe_life_conclude_stop(&life, false);
    for (int i = 0; i < 2; i++)
        assert_start_is_refused("the last capture's threads have not ended");
    assert_false(strobe_life_claim_stop(&life));
}

/* ---- the memory of the last two captures ---- */

enum { RESERVED = 64 };
static int reserved, released;
static void *released_last;
static bool out_of_memory;

static bool reserve(const struct strobe_config *config, struct strobe_capture_memory *m)
{
    assert_int_equal(config->threads_max, 4);
    if (out_of_memory)
        return false;
    m->all = test_calloc(1, RESERVED);
    m->bytes = RESERVED;
    reserved++;
    return true;
}

static void release(struct strobe_capture_memory *m)
{
    assert_int_equal(m->bytes, RESERVED);
    released_last = m->all;
    released++;
    test_free(m->all);
}

static const char *new_session(const char *name)
{
    struct strobe_config config;
    struct strobe_session s;
    const char *path = temp_dir_path(name);
    strobe_config_default(&config);
    config.threads_max = 4;
    assert_int_equal(strobe_session_create(path, &config, NULL, 1, &s), STROBE_OK);
    strobe_session_unmap(&s);
    return path;
}

static struct strobe_capture_memories new_memories(void)
{
    reserved = released = 0;
    released_last = NULL;
    out_of_memory = false;
    return (struct strobe_capture_memories){.reserve = reserve, .release = release};
}

static void begin(struct strobe_capture_memories *m)
{
    struct strobe_error error = {""};
    enum strobe_status status = strobe_capture_memories_begin(m, new_session("session"), 7, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, STROBE_OK);
}

static void release_all(struct strobe_capture_memories *m)
{
    struct strobe_capture_memory *both[] = {&m->present, &m->previous};
    for (int i = 0; i < 2; i++) {
        if (!both[i]->bytes)
            continue;
        m->release(both[i]);
        strobe_session_unmap(&both[i]->session);
    }
    assert_int_equal(released, reserved);
}

static void the_memory_of_a_capture_stays_until_the_capture_after_the_next_starts(void **state)
{
    (void)state;
    struct strobe_capture_memories m = new_memories();
    begin(&m);
    void *first = m.present.all;
    struct strobe_session_header *header = m.present.session.header;
    begin(&m);
    assert_int_equal(released, 0);
    assert_ptr_equal(m.previous.all, first);
    assert_ptr_equal(m.previous.session.header, header);
    assert_int_equal(header->pid, 7); /* still mapped */
    begin(&m);
    assert_int_equal(released, 1);
    assert_ptr_equal(released_last, first);
    release_all(&m);
}

static void a_capture_is_attached_to_its_session(void **state)
{
    (void)state;
    struct strobe_capture_memories m = new_memories();
    begin(&m);
    assert_int_equal(m.present.session.header->pid, 7);
    assert_int_equal(strobe_load_relaxed(&m.present.session.header->state), STROBE_SESSION_RUNNING);
    release_all(&m);
}

/* Expects that a start by `path` fails so, and changes nothing. */
static void assert_begin_fails(struct strobe_capture_memories *m, const char *path, enum strobe_status expected,
                               const char *text)
{
    struct strobe_error error = {""};
    struct strobe_capture_memory present = m->present, previous = m->previous;
    int kept = reserved - released;
    assert_int_equal(strobe_capture_memories_begin(m, path, 8, &error), expected);
    assert_non_null(strstr(error.text, text));
    assert_null(strchr(error.text, '\n'));
    assert_int_equal(reserved - released, kept);
    assert_memory_equal(&m->present, &present, sizeof present);
    assert_memory_equal(&m->previous, &previous, sizeof previous);
}

static void a_session_that_is_not_there_changes_nothing(void **state)
{
    (void)state;
    struct strobe_capture_memories m = new_memories();
    const char *path = temp_dir_path("none");
    begin(&m);
    begin(&m);
    assert_begin_fails(&m, path, STROBE_IO, path);
    assert_int_equal(reserved, 2);
    release_all(&m);
}

static void a_session_that_is_taken_changes_nothing(void **state)
{
    (void)state;
    struct strobe_capture_memories m = new_memories();
    begin(&m);
    const char *path = temp_dir_path("session");
    assert_begin_fails(&m, path, STROBE_EXISTS, path);
    assert_int_equal(m.present.session.header->pid, 7);
    release_all(&m);
}

static void without_memory_the_session_is_not_attached(void **state)
{
    (void)state;
    struct strobe_capture_memories m = new_memories();
    const char *path = new_session("untouched");
    out_of_memory = true;
    assert_begin_fails(&m, path, STROBE_IO, "there is no memory for the engine");
    out_of_memory = false;
    assert_int_equal(strobe_capture_memories_begin(&m, path, 9, NULL), STROBE_OK);
    release_all(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(of_several_starts_exactly_one_succeeds, reset_life),
        cmocka_unit_test_setup(a_start_is_refused_until_the_capture_has_stopped, reset_life),
        cmocka_unit_test_setup(a_stop_does_nothing_unless_a_capture_runs, reset_life),
        cmocka_unit_test_setup(a_running_capture_is_stopped_once, reset_life),
        cmocka_unit_test_setup(after_a_start_that_failed_another_may_start, reset_life),
        cmocka_unit_test_setup(a_failed_start_whose_threads_have_not_ended_refuses_every_start, reset_life),
        cmocka_unit_test_setup(a_stop_whose_threads_have_not_ended_refuses_every_start, reset_life),
        cmocka_unit_test(the_memory_of_a_capture_stays_until_the_capture_after_the_next_starts),
        cmocka_unit_test(a_capture_is_attached_to_its_session),
        cmocka_unit_test(a_session_that_is_not_there_changes_nothing),
        cmocka_unit_test(a_session_that_is_taken_changes_nothing),
        cmocka_unit_test(without_memory_the_session_is_not_attached),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}

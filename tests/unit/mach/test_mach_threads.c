/* The table of the task's threads, on the fake Mach over real threads: live and ended threads are found, and no right
 * is leaked or released twice. tests/explore covers concurrent use. */
#include "engine/backend/mach/threads.h"
#include "sim/fake/mach/fake.h"

#include <pthread_np.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { CREW = 8, FOUND_MOST = 64 };

static struct strobe_mach_threads *table;
static int64_t rights_before;

/* A thread that does the requested steps, in this order, and then ends. */
enum step { BORN = 1, PUT, DROPPED, ENDED_STEP };
struct member {
    pthread_t thread;
    _Atomic int asked, done;
    uint32_t tid;
    mach_port_t port; /* the test has no right of its own to it */
    enum strobe_status put;
    char name[16];
};
static struct member crew[CREW];

static uint32_t own_tid(void)
{
    uint64_t id;
    assert_int_equal(pthread_threadid_np(0, &id), 0);
    return strobe_mach_tid(id);
}

static void *live(void *p)
{
    struct member *m = p;
    m->tid = own_tid();
    m->port = pthread_mach_thread_np(pthread_self());
    pthread_setname_np(pthread_self(), m->name);
    for (int step = BORN; step < ENDED_STEP; step++) {
        if (step == PUT)
            m->put = strobe_mach_threads_put(table, m->tid, mach_thread_self());
        if (step == DROPPED)
            strobe_mach_threads_drop(table, m->tid);
        atomic_store(&m->done, step);
        while (atomic_load(&m->asked) == step)
            sched_yield();
        if (atomic_load(&m->asked) == ENDED_STEP)
            break;
    }
    return NULL;
}

/* Has the thread do its steps up to `step`. With ENDED_STEP, returns when it has ended. */
static void ask(struct member *m, enum step step)
{
    atomic_store(&m->asked, step);
    if (step == ENDED_STEP)
        pthread_join(m->thread, NULL);
    else
        while (atomic_load(&m->done) < (int)step)
            sched_yield();
}

static struct member *begin(unsigned i, enum step step)
{
    struct member *m = &crew[i];
    *m = (struct member){0};
    strcpy(m->name, "member ?");
    m->name[7] = (char)('a' + i);
    atomic_store(&m->asked, step);
    assert_int_equal(pthread_create(&m->thread, NULL, live, m), 0);
    ask(m, step);
    return m;
}

static void assert_found(const struct member *m)
{
    mach_port_t port = MACH_PORT_NULL;
    assert_int_equal(strobe_mach_threads_use(table, m->tid, &port), STROBE_OK);
    assert_int_equal(port, m->port);
    strobe_mach_threads_done(table);
}

static void assert_not_found(uint32_t tid, enum strobe_status why)
{
    mach_port_t port;
    assert_int_equal(strobe_mach_threads_use(table, tid, &port), why);
}

static struct strobe_mach_found found[FOUND_MOST];
static uint32_t found_count;

static void note_found(void *ctx, const struct strobe_mach_found *f)
{
    assert_ptr_equal(ctx, found);
    if (found_count < FOUND_MOST)
        found[found_count] = *f;
    found_count++;
}

/* Returns how many are new. */
static uint32_t look(void)
{
    found_count = 0;
    strobe_mach_threads_look(table, note_found, found);
    return found_count;
}

static const struct strobe_mach_found *found_of(uint32_t tid)
{
    for (uint32_t i = 0; i < found_count; i++)
        if (found[i].tid == tid)
            return &found[i];
    fail_msg("%u was not found", tid);
    return NULL;
}

static int start(void **state)
{
    (void)state;
    table = calloc(1, sizeof *table);
    mach_port_deallocate(mach_task_self(), mach_thread_self());
    rights_before = fake_mach_rights();
    return 0;
}

/* A right that was not released stays. On a loaded machine a joined thread may exist for a moment longer. */
static void assert_no_right_is_left(void)
{
    for (int ms = 0; ms < 2000 && fake_mach_rights() != rights_before; ms++)
        usleep(1000);
    assert_int_equal(fake_mach_rights(), rights_before);
}

/* The test has ended all its threads. */
static int stop(void **state)
{
    (void)state;
    fake_mach_fail_none();
    strobe_mach_threads_clear(table);
    assert_no_right_is_left();
    free(table);
    return 0;
}

static void a_thread_is_found_by_its_id_and_its_port_kept(void **state)
{
    (void)state;
    struct member *m = begin(0, PUT);
    assert_int_equal(m->put, STROBE_OK);
    assert_found(m);
    assert_not_found(m->tid + 1000, STROBE_NO_ENTRY);
    ask(m, ENDED_STEP);
    assert_found(m); /* no notification has come, and the port's name still exists */
}

static void a_thread_that_is_there_is_not_put_twice(void **state)
{
    (void)state;
    uint32_t tid = own_tid();
    assert_int_equal(strobe_mach_threads_put(table, tid, mach_thread_self()), STROBE_OK);
    int64_t rights = fake_mach_rights();
    assert_int_equal(strobe_mach_threads_put(table, tid, mach_thread_self()), STROBE_EXISTS);
    assert_int_equal(fake_mach_rights(), rights);
}

static void a_name_of_nothing_is_not_put(void **state)
{
    (void)state;
    assert_int_equal(strobe_mach_threads_put(table, 5, MACH_PORT_NULL), STROBE_GONE);
    assert_int_equal(strobe_mach_threads_put(table, 5, MACH_PORT_DEAD), STROBE_GONE);
    assert_not_found(5, STROBE_NO_ENTRY);
}

static void a_dropped_thread_is_not_there_and_does_not_come_back(void **state)
{
    (void)state;
    struct member *m = begin(0, DROPPED);
    assert_not_found(m->tid, STROBE_NO_ENTRY);
    look();
    assert_not_found(m->tid, STROBE_NO_ENTRY);
    assert_int_equal(strobe_mach_threads_put(table, m->tid, mach_thread_self()), STROBE_GONE);
    ask(m, ENDED_STEP);
}

/* The engine's own threads do so: they are never found, so never stopped. */
static void a_thread_that_drops_itself_before_anybody_puts_it_stays_out(void **state)
{
    (void)state;
    uint32_t tid = own_tid();
    strobe_mach_threads_drop(table, tid);
    for (int i = 0; i < 5; i++)
        assert_int_equal(look(), 0);
    assert_not_found(tid, STROBE_NO_ENTRY);
}

static void a_port_in_use_is_given_back_when_that_is_done(void **state)
{
    (void)state;
    struct member *m = begin(0, PUT);
    mach_port_t port;
    mach_port_urefs_t refs = 0;
    assert_int_equal(strobe_mach_threads_use(table, m->tid, &port), STROBE_OK);
    ask(m, DROPPED);
    ask(m, ENDED_STEP);
    /* On a loaded machine the joined thread, and so its port, may exist for a moment longer. */
    for (int ms = 0; ms < 2000 && !refs; ms++) {
        usleep(1000);
        assert_int_equal(mach_port_get_refs(mach_task_self(), port, MACH_PORT_RIGHT_DEAD_NAME, &refs), KERN_SUCCESS);
    }
    assert_int_equal(refs, 1);
    strobe_mach_threads_done(table);
    assert_int_equal(fake_mach_rights(), rights_before);
    strobe_mach_threads_done(table);
    assert_int_equal(fake_mach_rights(), rights_before);
}

static void another_port_is_given_back_at_once_while_one_is_in_use(void **state)
{
    (void)state;
    struct member *a = begin(0, PUT), *b = begin(1, PUT);
    mach_port_t port;
    int64_t rights = fake_mach_rights();
    assert_int_equal(strobe_mach_threads_use(table, a->tid, &port), STROBE_OK);
    ask(b, DROPPED);
    assert_int_equal(fake_mach_rights(), rights - 1);
    strobe_mach_threads_done(table);
    ask(a, ENDED_STEP);
    ask(b, ENDED_STEP);
}

static void a_look_finds_all_threads_with_their_names_once(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CREW; i++)
        begin(i, BORN);
    assert_int_equal(look(), CREW + 1);
    assert_true(found_of(own_tid())->is_main);
    for (unsigned i = 0; i < CREW; i++) {
        const struct strobe_mach_found *f = found_of(crew[i].tid);
        assert_int_equal(f->port, crew[i].port);
        assert_string_equal(f->name, crew[i].name);
        assert_false(f->is_main);
        assert_found(&crew[i]);
    }
    int64_t rights = fake_mach_rights();
    assert_int_equal(rights, rights_before + CREW + 1);
    assert_int_equal(look(), 0);
    assert_int_equal(fake_mach_rights(), rights);
    for (unsigned i = 0; i < CREW; i++)
        ask(&crew[i], ENDED_STEP);
}

static void a_thread_that_put_itself_is_not_found_once_more(void **state)
{
    (void)state;
    struct member *a = begin(0, PUT), *b = begin(1, BORN);
    assert_int_equal(look(), 2);
    found_of(b->tid);
    ask(b, PUT);
    assert_int_equal(b->put, STROBE_EXISTS);
    ask(a, ENDED_STEP);
    ask(b, ENDED_STEP);
}

static void known_threads_cost_a_scan_no_thread_info_call(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CREW; i++)
        begin(i, BORN);
    look();
    uint64_t asked = fake_mach_calls("thread_info");
    for (int i = 0; i < 10; i++)
        look();
    assert_in_range(fake_mach_calls("thread_info") - asked, 0, 10 * (CREW + 1) / 2); /* some share a slot */
    for (unsigned i = 0; i < CREW; i++)
        ask(&crew[i], ENDED_STEP);
}

static void a_thread_that_ends_unreported_is_gone_after_two_scans(void **state)
{
    (void)state;
    struct member *m = begin(0, PUT), *other = begin(1, PUT);
    look();
    int64_t rights = fake_mach_rights();
    ask(m, ENDED_STEP);
    look();
    assert_found(m);
    look();
    assert_not_found(m->tid, STROBE_GONE);
    assert_int_equal(fake_mach_rights(), rights - 1);
    assert_found(other);
    ask(other, ENDED_STEP);
}

static void a_refused_list_of_threads_retires_no_thread(void **state)
{
    (void)state;
    struct member *m = begin(0, PUT);
    look();
    fake_mach_fail("task_threads", 1, 10, KERN_RESOURCE_SHORTAGE);
    for (int i = 0; i < 5; i++)
        assert_int_equal(look(), 0);
    assert_found(m);
    fake_mach_fail_none();
    ask(m, ENDED_STEP);
}

/* A release that fails releases nothing, so this test makes no release fail. */
static void whichever_call_fails_no_right_is_lost(void **state)
{
    (void)state;
    const char *failed;
    uint64_t n = 0;
    for (unsigned i = 0; i < 3; i++)
        begin(i, i % 2 ? PUT : BORN);
    do {
        fake_mach_fail_any(++n, KERN_FAILURE);
        for (int i = 0; i < 2; i++)
            look();
        failed = fake_mach_failed();
        fake_mach_fail_none();
        bool gives_back = failed && strstr(failed, "deallocate");
        look();
        strobe_mach_threads_clear(table);
        if (gives_back && strcmp(failed, "mach_port_deallocate") == 0)
            rights_before++;
        assert_int_equal(fake_mach_rights(), rights_before);
    } while (failed);
    assert_true(n > 10);
    for (unsigned i = 0; i < 3; i++)
        ask(&crew[i], ENDED_STEP);
}

static void a_full_table_is_reported_and_keeps_no_right(void **state)
{
    (void)state;
    uint32_t refused = 0, first = 1u << 24, tid = first;
    for (; tid - first < 3 * STROBE_MACH_TABLE_SLOTS && refused < 1000; tid++) {
        int64_t rights = fake_mach_rights();
        enum strobe_status status = strobe_mach_threads_put(table, tid, mach_thread_self());
        assert_true(status == STROBE_OK || status == STROBE_FULL);
        assert_int_equal(fake_mach_rights(), rights + (status == STROBE_OK));
        refused += status == STROBE_FULL;
    }
    assert_int_equal(refused, 1000);
    assert_true(tid - first > STROBE_MACH_TABLE_SLOTS / 2); /* the capacity of the engine */
}

static void slots_of_threads_that_ended_are_taken_again(void **state)
{
    (void)state;
    enum { A_TIME = 6000 };
    uint32_t tid = 1u << 24; /* the id of no thread */
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < A_TIME; i++)
            assert_int_equal(strobe_mach_threads_put(table, ++tid, mach_thread_self()), STROBE_OK);
        assert_int_equal(strobe_mach_threads_use(table, tid, &(mach_port_t){0}), STROBE_OK);
        strobe_mach_threads_done(table);
        look();
        look();
        assert_not_found(tid, STROBE_GONE);
    }
}

/* ---- many come and go */

static _Atomic bool churning;
static _Atomic uint32_t last_tid;

static void *come_and_go(void *p)
{
    uint32_t tid = own_tid();
    (void)p;
    strobe_mach_threads_put(table, tid, mach_thread_self());
    atomic_store(&last_tid, tid);
    sched_yield();
    if (tid % 3)
        strobe_mach_threads_drop(table, tid);
    return NULL;
}

static void *start_many(void *p)
{
    (void)p;
    for (int i = 0; i < 400; i++) {
        pthread_t pair[2];
        for (int k = 0; k < 2; k++)
            pthread_create(&pair[k], NULL, come_and_go, NULL);
        for (int k = 0; k < 2; k++)
            pthread_join(pair[k], NULL);
    }
    atomic_store(&churning, false);
    return NULL;
}

/* Asserts that the port in use for an id is that of this thread, or is a dead name. */
static void check_identity(uint32_t tid)
{
    mach_port_t port;
    thread_identifier_info_data_t info;
    mach_msg_type_number_t count = THREAD_IDENTIFIER_INFO_COUNT;
    if (strobe_mach_threads_use(table, tid, &port) != STROBE_OK)
        return;
    if (thread_info(port, THREAD_IDENTIFIER_INFO, (thread_info_t)&info, &count) == KERN_SUCCESS)
        assert_int_equal(strobe_mach_tid(info.thread_id), tid);
    strobe_mach_threads_done(table);
}

static void threads_that_come_and_go_leave_no_right_and_are_never_mistaken_S45(void **state)
{
    (void)state;
    pthread_t starter;
    atomic_store(&churning, true);
    pthread_create(&starter, NULL, start_many, NULL);
    while (atomic_load(&churning)) {
        for (int i = 0; i < 20; i++)
            check_identity(atomic_load(&last_tid));
        look();
    }
    pthread_join(starter, NULL);
    look();
    look();
    strobe_mach_threads_drop(table, own_tid());
    for (int ms = 0; ms < 2000 && fake_mach_rights() != rights_before; ms++) { /* a thread that ended late is retired */
        usleep(1000);
        look();
        strobe_mach_threads_drop(table, own_tid());
    }
    assert_no_right_is_left(); /* before the table is cleared */
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(a_thread_is_found_by_its_id_and_its_port_kept),
        TEST(a_thread_that_is_there_is_not_put_twice),
        TEST(a_name_of_nothing_is_not_put),
        TEST(a_dropped_thread_is_not_there_and_does_not_come_back),
        TEST(a_thread_that_drops_itself_before_anybody_puts_it_stays_out),
        TEST(a_port_in_use_is_given_back_when_that_is_done),
        TEST(another_port_is_given_back_at_once_while_one_is_in_use),
        TEST(a_look_finds_all_threads_with_their_names_once),
        TEST(a_thread_that_put_itself_is_not_found_once_more),
        TEST(known_threads_cost_a_scan_no_thread_info_call),
        TEST(a_thread_that_ends_unreported_is_gone_after_two_scans),
        TEST(a_refused_list_of_threads_retires_no_thread),
        TEST(whichever_call_fails_no_right_is_lost),
        TEST(a_full_table_is_reported_and_keeps_no_right),
        TEST(slots_of_threads_that_ended_are_taken_again),
        TEST(threads_that_come_and_go_leave_no_right_and_are_never_mistaken_S45),
    };
    return cmocka_run_group_tests_name("mach threads", tests, NULL, NULL);
}

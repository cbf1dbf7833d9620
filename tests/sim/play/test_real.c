/* The player of real mode, without the engine: its threads do the same as virtual threads, and their notes are true. No
 * test asserts a duration.
 *
 * alone: the order in which threads wait for each other depends on sleeps that end in time. */
#include "engine/base/error.h"
#include "sim/player/notes.h"
#include "sim/player/play.h"
#include "sim/player/real.h"
#include "sim/player/work.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[TEMPORARY_BYTES], scenario_path[TEMPORARY_BYTES + 32], notes_path[TEMPORARY_BYTES + 32];

static int make_folder(void **state)
{
    (void)state;
    temporary_path(folder, "strobe-test-XXXXXX");
    snprintf(scenario_path, sizeof scenario_path, "%s", mkdtemp(folder) ? folder : "");
    strcat(scenario_path, "/scenario");
    snprintf(notes_path, sizeof notes_path, "%s/notes", folder);
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    unlink(scenario_path);
    unlink(notes_path);
    return rmdir(folder);
}

struct played {
    struct sim_scenario *scenario;
    struct sim_notes_head head;
    struct sim_tracks truth;
};

static int play_in_child(const char *text, const char *seed)
{
    char *argv[] = {SIM_REAL_PLAYER, scenario_path, (char *)(uintptr_t)seed, "100000", notes_path, NULL};
    int ended = 0;
    FILE *f = fopen(scenario_path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(sim_real_child(5, argv));
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    return WEXITSTATUS(ended);
}

static void play(struct played *p, const char *text, const char *seed)
{
    struct strobe_error error = {""};
    assert_int_equal(play_in_child(text, seed), 0);
    sim_tracks_open(&p->truth);
    if (sim_scenario_parse(text, "test.scn", &p->scenario, &error) != STROBE_OK ||
        sim_notes_read(notes_path, p->scenario, &p->head, &p->truth, &error) != STROBE_OK)
        fail_msg("%s", error.text);
}

static void close_played(struct played *p)
{
    sim_tracks_close(&p->truth);
    sim_scenario_free(p->scenario);
}

static const struct sim_track *track(const struct sim_tracks *t, const char *name)
{
    for (size_t i = 0; i < t->track_count; i++)
        if (!strcmp(t->tracks[i].name, name))
            return &t->tracks[i];
    fail_msg("no thread %s", name);
    return NULL;
}

/* Returns the calls of methods in order, as "A(B()C!)". A call that an exception ends has `!` in place of `)`. */
static char *calls(const struct sim_tracks *t, const char *name)
{
    const struct sim_track *track_of_name = track(t, name);
    char *text = NULL;
    size_t bytes;
    uint32_t waits = 0;
    FILE *f = open_memstream(&text, &bytes);
    assert_non_null(f);
    for (size_t i = 0; i < track_of_name->event_count; i++) {
        const struct sim_event *e = &track_of_name->events[i];
        if (e->name == SIM_CALL_END)
            waits ? (void)waits-- : fputs(e->class ? "!" : ")", f);
        else if (e->class == SIM_CALL_WAIT)
            waits++;
        else
            fprintf(f, "%s(", t->names.texts[e->name]);
    }
    fclose(f);
    return text;
}

#define HEAD "scenario test \"test\"\ncores 2\nduration 20s\n"

/* A scenario with each kind of random draw, and each operation in which no other thread takes part. */
static const char drawn[] =
    HEAD "mutex m\nmonitor o\nrwlock r\n"
         "image app {\n"
         "method Leaf frameless { compute 1us..9us }\n"
         "method Deep { call Leaf; compute exp(2us) }\n"
         "method Thrower { read 1KiB..9KiB takes 1us..3us; choose { 2 { throw } 3 { call Leaf } } }\n"
         "method Between { lock m { call Thrower }; synchronized o { synchronized o { call Leaf } } }\n"
         "method Careful { try { call Between } catch { call Leaf; recurse Deep 3 } }\n"
         "method Main { repeat 3..9 { call Careful; choose { 1 { } 1 { alloc 16..64; recurse Deep 1..4 } } }\n"
         "  read_lock r { call Leaf }; write_lock r { jni Native }; spin m every 1us { call Leaf }\n"
         "  spawn extra; join extra; free 3; try { call Quitter } catch { call Leaf } }\n"
         "method Quitter { call Leaf; exit }\n"
         "method Native { compute 1us }\n"
         "method Extra { repeat 1..5 { call Leaf }; throw }\n"
         "}\n"
         "thread main main run Main\nthread work x3 start 0ms..2ms run Careful\nthread extra x0 run Extra\n";

static void the_same_seed_does_the_same_in_real_and_in_virtual_time(void **state)
{
    static const char *const names[] = {"main", "work-1", "work-2", "work-3", "extra-1"};
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct played p;
        struct sim_run virtual;
        struct sim_run_options options = {.seed = seed};
        struct strobe_error error = {""};
        char digits[24];
        snprintf(digits, sizeof digits, "%llu", (unsigned long long)seed);
        play(&p, drawn, digits);
        if (sim_run_play(&virtual, p.scenario, &options, NULL, &error) != STROBE_OK)
            fail_msg("%s", error.text);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            char *real_calls = calls(&p.truth, names[i]), *virtual_calls = calls(&virtual.truth, names[i]);
            assert_string_equal(real_calls, virtual_calls);
            free(real_calls);
            free(virtual_calls);
        }
        struct sim_totals real_totals = track(&p.truth, "main")->totals;
        struct sim_totals virtual_totals = track(&virtual.truth, "main")->totals;
        assert_int_equal(real_totals.allocations, virtual_totals.allocations);
        assert_int_equal(real_totals.alloc_bytes, virtual_totals.alloc_bytes);
        assert_int_equal(p.truth.track_count, virtual.truth.track_count);
        sim_run_close(&virtual);
        close_played(&p);
    }
}

static void threads_are_real_and_have_different_ids(void **state)
{
    struct played p;
    (void)state;
    play(&p, drawn, "1");
    for (size_t i = 0; i < p.truth.track_count; i++) {
        assert_true(p.truth.tracks[i].tid > 0);
        assert_int_equal(p.truth.tracks[i].generation, 1);
        assert_int_equal(p.truth.tracks[i].is_main, !strcmp(p.truth.tracks[i].name, "main"));
        assert_true(p.truth.tracks[i].end_ns <= p.truth.end_ns);
    }
    close_played(&p);
}

/* Returns the name of the waker of the thread's longest wait of this kind that has a waker. */
static const char *waker_of(const struct sim_tracks *t, const char *name, enum strobe_kind kind)
{
    const struct sim_track *waits = track(t, name);
    const struct sim_wait *longest = NULL;
    for (size_t i = 0; i < waits->wait_count; i++)
        if (waits->waits[i].kind == kind &&
            (!longest || waits->waits[i].end_ns - waits->waits[i].begin_ns > longest->end_ns - longest->begin_ns))
            longest = &waits->waits[i];
    assert_non_null(longest);
    assert_true(longest->blocked);
    if (longest->waker == SIM_NOBODY)
        return "nobody";
    assert_in_range(longest->release_ns, longest->begin_ns, longest->end_ns);
    return t->tracks[longest->waker].name;
}

/* The first thread holds each object long enough that the second one waits. */
static void the_waker_of_a_wait_is_the_releasing_thread(void **state)
{
    static const char text[] = HEAD
        "mutex m\ncond c\nmutex cm\nsemaphore s 0\nrwlock r\n"
        "image app {\n"
        "method Owner { lock m { write_lock r { sleep 600ms } }; sleep 300ms\n"
        "  lock cm { notify c }; sleep 300ms; release s; sleep 300ms; unpark waiter }\n"
        "method Waiter { sleep 100ms; lock m { }; lock cm { wait c holding cm }; acquire s; park; sleep 1ms }\n"
        "method Reader { sleep 100ms; read_lock r { }; acquire never timeout 50ms }\n"
        "method Parent { spawn child; join child }\n"
        "method Child { sleep 300ms }\n"
        "}\nsemaphore never 0\n"
        "thread owner main run Owner\nthread waiter run Waiter\nthread reader run Reader\nthread parent run Parent\n"
        "thread child x0 run Child\n";
    struct played p;
    (void)state;
    play(&p, text, "1");
    assert_string_equal(waker_of(&p.truth, "waiter", STROBE_KIND_MUTEX), "owner");
    assert_string_equal(waker_of(&p.truth, "waiter", STROBE_KIND_COND), "owner");
    assert_string_equal(waker_of(&p.truth, "waiter", STROBE_KIND_SEM), "owner");
    assert_string_equal(waker_of(&p.truth, "waiter", STROBE_KIND_SLEEP), "nobody");
    assert_string_equal(waker_of(&p.truth, "reader", STROBE_KIND_RWLOCK), "owner");
    assert_string_equal(waker_of(&p.truth, "reader", STROBE_KIND_SEM), "nobody");
    assert_string_equal(waker_of(&p.truth, "parent", STROBE_KIND_THREAD), "child-1");
    close_played(&p);
}

static void messages_of_a_queue_run_one_by_one_each_with_an_id(void **state)
{
    static const char text[] =
        HEAD "queue q\n"
             "image app {\n"
             "method First { compute 1us }\nmethod Second { compute 1us }\nmethod Last { exit }\n"
             "method Looper { post Last to q after 200ms; post Second to q; post First to q priority 5; loop q }\n"
             "}\nthread looper main run Looper\n";
    struct played p;
    (void)state;
    play(&p, text, "1");
    char *is = calls(&p.truth, "looper");
    assert_string_equal(is, "Looper(First()Second()Last())");
    free(is);
    const struct sim_track *t = track(&p.truth, "looper");
    assert_int_equal(t->message_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(t->messages[i].value, i + 1);
    close_played(&p);
}

/* The run ends when the scenario's duration ends, not when its threads end. */
static void an_endless_wait_ends_with_the_scenario(void **state)
{
    static const char text[] =
        "scenario test \"test\"\nduration 200ms\ncores 2\nsemaphore never 0\n"
        "image app {\nmethod Stuck { acquire never }\nmethod Busy { forever { compute 10us } }\n}\n"
        "thread main main run Stuck\nthread busy run Busy\n";
    struct played p;
    (void)state;
    play(&p, text, "1");
    const struct sim_track *t = track(&p.truth, "main");
    assert_int_equal(t->wait_count, 1);
    assert_int_equal(t->waits[0].waker, SIM_NOBODY);
    assert_int_equal(t->waits[0].end_ns, p.truth.end_ns);
    assert_int_equal(track(&p.truth, "busy")->end_ns, p.truth.end_ns);
    assert_true(p.head.work_ns > 0);
    close_played(&p);
}

static void more_methods_than_there_are_frames_are_refused(void **state)
{
    struct sim_scenario *scenario;
    struct sim_tracks truth, claim;
    struct sim_view view;
    struct sim_run_cpu cpu;
    struct strobe_error error = {""};
    char *text = NULL;
    size_t bytes;
    (void)state;
    FILE *f = open_memstream(&text, &bytes);
    fputs(HEAD "image app {\n", f);
    for (int i = 0; i <= SIM_REAL_METHODS; i++)
        fprintf(f, "method M%d { compute 1us }\n", i);
    fputs("}\nthread main main run M0\n", f);
    fclose(f);
    assert_int_equal(sim_scenario_parse(text, "many.scn", &scenario, &error), STROBE_OK);
    struct sim_real_options options = {.seed = 1};
    assert_int_equal(sim_real_run(scenario, &options, &truth, &claim, &view, &cpu, &error), STROBE_BAD_INPUT);
    assert_string_equal(error.text, "many.scn: 1025 methods, expected at most 1024 in real mode");
    sim_tracks_close(&truth);
    sim_tracks_close(&claim);
    sim_scenario_free(scenario);
    free(text);
}

static void a_stack_deeper_than_there_is_ends_the_run_with_a_line(void **state)
{
    static const char text[] = HEAD "image app {\nmethod Deep { compute 1us }\nmethod Deeper { recurse Deep 10000 }\n"
                                    "method Main { recurse Deeper 10000 }\n}\nthread main main run Main\n";
    (void)state;
    assert_int_equal(play_in_child(text, "1"), 2);
}

static void when_the_main_thread_has_ended_its_process_costs_nothing(void **state)
{
    static const char text[] = HEAD "image app {\nmethod Sleep { sleep 300ms }\nmethod Main { }\n}\n"
                                    "thread main main run Main\nthread one run Sleep\n";
    struct played p;
    (void)state;
    play(&p, text, "1");
    assert_true(p.head.process_cpu_ns < 100000000);
    close_played(&p);
}

#define PLAYED(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

/* ---- which waits blocked */

static struct sim_real_play nothing_to_play;
static struct sim_actor actor;

static void sleep_ns(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* Lasts longer than two context switches, as far as the clock shows. */
static void stay_on_processor(void)
{
    uint64_t until_ns = sim_work_now_ns() + 10 * sim_work_limits.block_ns;
    while (sim_work_now_ns() < until_ns)
        continue;
}

/* Ends the actor's wait and returns what its note says: whether it blocked. */
static bool ended_wait_blocked(void)
{
    struct sim_note last = {0};
    FILE *f = tmpfile();
    assert_non_null(f);
    sim_real_wait_end(&actor, 0);
    sim_notes_write(&actor.notes, (struct sim_notes_thread){0}, f);
    assert_int_equal(fseek(f, -(long)sizeof last, SEEK_END), 0);
    assert_int_equal(fread(&last, sizeof last, 1, f), 1);
    fclose(f);
    assert_int_equal(last.kind, SIM_NOTE_WAITED);
    return last.value;
}

static int make_actor(void **state)
{
    (void)state;
    actor = (struct sim_actor){.play = &nothing_to_play, .event = eventfd(0, EFD_NONBLOCK)};
    return actor.event < 0;
}

static int drop_actor(void **state)
{
    (void)state;
    return close(actor.event);
}

/* The kernel may let a thread wait within the call, for memory for example: the first call of the process did in some
 * runs. A machine that does not run for a millisecond takes a sleep's wait away. At a rate of 0.5 % of the other calls,
 * five or more of 19 come in less than one of 10^7 runs. */
enum { WAITS = 20, WRONG_MOST = 5 };

static void a_call_blocked_only_when_it_gave_up_the_processor_itself(void **state)
{
    (void)state;
    int stayed = 0, slept = 0;
    sleep_ns(1000);
    for (int i = 0; i < WAITS; i++) {
        sim_real_wait_begin(&actor, STROBE_KIND_SEM, true);
        stay_on_processor();
        stayed += !ended_wait_blocked();
        sim_real_wait_begin(&actor, STROBE_KIND_SEM, true);
        sleep_ns(1000000);
        slept += ended_wait_blocked();
    }
    assert_in_range(stayed, WAITS - WRONG_MOST, WAITS);
    assert_in_range(slept, WAITS - WRONG_MOST, WAITS);
}

/* The sleeps around the poll stand for an Android runtime that holds the thread. */
static void a_poll_blocked_only_when_it_gave_up_the_processor_itself(void **state)
{
    (void)state;
    struct pollfd event = {.fd = actor.event, .events = POLLIN};
    const struct timespec no_time = {0}, patience = {.tv_nsec = 1000000};
    sim_real_wait_begin(&actor, STROBE_KIND_POLL, true);
    sim_real_poll(&actor, &event, &patience);
    assert_true(ended_wait_blocked());
    assert_int_equal(eventfd_write(actor.event, 1), 0);
    sim_real_wait_begin(&actor, STROBE_KIND_POLL, true);
    sleep_ns(1000000);
    sim_real_poll(&actor, &event, &patience);
    sleep_ns(1000000);
    assert_false(ended_wait_blocked());
    assert_int_equal(event.revents, POLLIN);
    sim_real_wait_begin(&actor, STROBE_KIND_POLL, true); /* of two polls of one wait, the second one did not sleep */
    event.fd = -1;
    sim_real_poll(&actor, &event, &patience);
    sim_real_poll(&actor, &event, &no_time);
    assert_true(ended_wait_blocked());
}

static uint64_t counted_waits;

static bool count_waits(const struct sim_actor *a, enum strobe_kind kind, uint64_t *out)
{
    (void)a;
    *out = counted_waits;
    return kind == STROBE_KIND_MONITOR;
}

/* A thread also sleeps while the sampler holds it. A runtime knows which calls waited. */
static void a_call_blocked_when_the_runtime_counted_a_wait_in_it(void **state)
{
    (void)state;
    static const struct sim_executor counting = {.count_waits = count_waits};
    nothing_to_play.executor = &counting;
    for (int waits = 0; waits < 2; waits++) {
        sim_real_wait_begin(&actor, STROBE_KIND_MONITOR, true);
        sleep_ns(1000000);
        counted_waits += (uint64_t)waits;
        assert_int_equal(ended_wait_blocked(), waits);
    }
    sim_real_wait_begin(&actor, STROBE_KIND_SEM, true);
    sleep_ns(1000000);
    assert_true(ended_wait_blocked());
    nothing_to_play.executor = NULL;
}

/* ---- memory of the player */

static bool is_zero(const unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i])
            return false;
    return true;
}

/* Not memset: a sanitizer would use shadow memory, whose first use is a page fault, too. */
__attribute__((no_sanitize("address", "thread"))) static void touch(volatile unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = 1;
}

/* A page fault takes a lock of the whole process, and would be noted as time of the scenario's method. */
static void a_threads_first_notes_cause_no_page_fault_while_prepared_memory_lasts(void **state)
{
    (void)state;
    if (THREAD_SANITIZER)
        skip();
    enum { THREADS = 100, BYTES = 4096 };
    sim_work_reserve(THREADS);
    uint64_t faults = sim_work_switches().minor_faults;
    for (int i = 0; i < THREADS; i++)
        touch(sim_work_pages(BYTES), BYTES);
    assert_int_equal(sim_work_switches().minor_faults, faults);
}

static void memory_beyond_what_was_prepared_is_zeroed_and_can_be_freed(void **state)
{
    (void)state;
    enum { REQUESTS = 32, BYTES = 1000 };
    unsigned char *at[REQUESTS];
    sim_work_reserve(1);
    for (int i = 0; i < REQUESTS; i++) {
        at[i] = sim_work_pages(BYTES);
        assert_non_null(at[i]);
        assert_true(is_zero(at[i], BYTES));
        memset(at[i], 1 + i, BYTES);
    }
    for (int i = 0; i < REQUESTS; i++) {
        assert_int_equal(at[i][0], 1 + i); /* no two requests share memory */
        assert_int_equal(at[i][BYTES - 1], 1 + i);
        sim_work_free_pages(at[i], BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAYED(the_same_seed_does_the_same_in_real_and_in_virtual_time),
        PLAYED(threads_are_real_and_have_different_ids),
        PLAYED(the_waker_of_a_wait_is_the_releasing_thread),
        PLAYED(messages_of_a_queue_run_one_by_one_each_with_an_id),
        PLAYED(an_endless_wait_ends_with_the_scenario),
        cmocka_unit_test(more_methods_than_there_are_frames_are_refused),
        PLAYED(when_the_main_thread_has_ended_its_process_costs_nothing),
        PLAYED(a_stack_deeper_than_there_is_ends_the_run_with_a_line),
        cmocka_unit_test_setup_teardown(a_call_blocked_only_when_it_gave_up_the_processor_itself, make_actor,
                                        drop_actor),
        cmocka_unit_test_setup_teardown(a_poll_blocked_only_when_it_gave_up_the_processor_itself, make_actor,
                                        drop_actor),
        cmocka_unit_test_setup_teardown(a_call_blocked_when_the_runtime_counted_a_wait_in_it, make_actor, drop_actor),
        cmocka_unit_test(a_threads_first_notes_cause_no_page_fault_while_prepared_memory_lasts),
        cmocka_unit_test(memory_beyond_what_was_prepared_is_zeroed_and_can_be_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Lines of ftrace's text become scheduling events of one family of processes. */
#include "engine/cmd/record/tracefs/sched_text.h"
#include "engine/trace/import/ftrace/ftrace_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct strobe_sched_family family;
static struct strobe_sched_text text;

static int begin_text(void **state)
{
    (void)state;
    family = (struct strobe_sched_family){.file = -1};
    text = (struct strobe_sched_text){.family = &family};
    return !strobe_sched_text_know(&text, 5, 5);
}

static int end_text(void **state)
{
    (void)state;
    strobe_sched_text_free(&text);
    strobe_sched_family_close(&family);
    return 0;
}

static void feed(const char *lines)
{
    const struct strobe_ftrace_visitor visitor = {.ctx = &text, .event = strobe_sched_text_take};
    struct strobe_ftrace_reader reader;
    strobe_ftrace_text_open(&reader, &visitor);
    strobe_ftrace_text_feed(&reader, lines, strlen(lines));
    strobe_ftrace_text_close(&reader);
    assert_int_equal(reader.events + reader.headers, reader.lines);
}

/* Compares the notes: of each a letter, its thread, process, time in us, and what is special. */
static void assert_notes(const char *expected)
{
    static const char letters[] = {
        [STROBE_SCHED_IN] = 'i', [STROBE_SCHED_OUT] = 'o', [STROBE_SCHED_WAKE] = 'w', [STROBE_SCHED_END] = 'e'};
    static const char kinds[] = {[STROBE_SCHED_SEEN] = ' ',
                                 [STROBE_SCHED_FOUND] = '?',
                                 [STROBE_SCHED_FORKED] = '+',
                                 [STROBE_SCHED_EXECUTED] = '!'};
    char found[1024] = "";
    for (size_t i = 0; i < family.pending_count; i++) {
        const struct strobe_sched_note *n = &family.pending[i];
        size_t used = strlen(found);
        snprintf(found + used, sizeof found - used, "%c%c%u/%u@%u", kinds[n->kind], letters[n->event.what],
                 n->event.tid, n->pid, (unsigned)(n->event.time_ns / 1000));
        used = strlen(found);
        if (n->event.what == STROBE_SCHED_OUT)
            snprintf(found + used, sizeof found - used, "=%u", n->event.state);
        if (n->event.what == STROBE_SCHED_WAKE)
            snprintf(found + used, sizeof found - used, "<%u%s", n->event.other,
                     n->event.flags & STROBE_SCHED_IN_INTERRUPT ? "irq" : "");
    }
    assert_string_equal(found, expected);
}

#define SWITCH(task, time, prev, state, next)                                                                          \
    "  " task " [001] d..2. 0.0000" #time ": sched_switch: prev_comm=a b prev_pid=" #prev                              \
    " prev_prio=120 prev_state=" state " ==> next_comm=c next_pid=" #next " next_prio=120\n"
#define WAKING(task, flags, time, tid)                                                                                 \
    "  " task " [001] " flags " 0.0000" #time ": sched_waking: comm=x pid=" #tid " prio=120 target_cpu=001\n"
#define NEWTASK(task, time, tid, flags)                                                                                \
    "  " task " [001] ..... 0.0000" #time ": task_newtask: pid=" #tid " comm=x clone_flags=" flags " oom_score_adj="   \
    "0\n"
#define EXEC(task, time, pid, old)                                                                                     \
    "  " task " [001] ..... 0.0000" #time ": sched_process_exec: filename=/x y pid=" #pid " old_pid=" #old "\n"
#define EXIT(task, time, tid)                                                                                          \
    "  " task " [001] ..... 0.0000" #time ": sched_process_exit: comm=x pid=" #tid " prio=120 group_dead=true\n"

static void switches_have_the_states_of_the_familys_threads(void **state)
{
    (void)state;
    feed(SWITCH("x-9", 10, 9, "S", 5) SWITCH("x-5", 20, 5, "D", 9) SWITCH("x-9", 30, 9, "R", 5)
             SWITCH("x-5", 40, 5, "R+", 0) SWITCH("<idle>-0", 50, 0, "R", 9));
    assert_notes(" i5/5@10 o5/5@20=3 i5/5@30 o5/5@40=1");
    assert_int_equal(family.pending[3].event.flags, STROBE_SCHED_PREEMPTED);
    assert_int_equal(family.pending[1].event.flags, 0);
    assert_int_equal(family.pending[1].event.cpu, 1);
}

static void wakers_are_threads_or_interrupts(void **state)
{
    (void)state;
    feed(WAKING("x-9", "d..3.", 10, 5) WAKING("<idle>-0", "d.h3.", 20, 5) WAKING("x-9", "dNs3.", 30, 5)
             WAKING("x-9", "d..3.", 40, 8));
    assert_notes(" w5/0@10<9 w5/0@20<0irq w5/0@30<9irq");
}

/* Of threads that wake others of the family. `<...>` is a name that ftrace does not know. */
static void wakers_have_the_names_of_their_lines(void **state)
{
    (void)state;
    feed(WAKING("an old name-9", "d..3.", 10, 5) WAKING("a name-9", "d..3.", 20, 5) WAKING("<...>-9", "d..3.", 30, 5)
             WAKING("<idle>-0", "d.h3.", 40, 5) WAKING("<...>-7", "d..3.", 50, 5) WAKING("x-8", "d..3.", 60, 6));
    strobe_sched_family_finish(&family);
    assert_int_equal(family.names.count, 1);
    assert_int_equal(family.names.names[0].tid, 9);
    assert_string_equal(family.names.names[0].name, "a name");
}

static void threads_and_child_processes_join_the_family(void **state)
{
    (void)state;
    feed(NEWTASK("x-5", 10, 6, "3d0f00") SWITCH("x-5", 15, 5, "S", 6) NEWTASK("x-6", 20, 7, "1200000")
             NEWTASK("x-9", 30, 10, "3d0f00") SWITCH("x-9", 40, 9, "S", 6) SWITCH("x-6", 50, 6, "S", 7)
                 SWITCH("x-7", 60, 7, "S", 10));
    assert_notes("+w6/5@10<5 o5/5@15=2 i6/5@15+w7/7@20<6 i6/5@40 o6/5@50=2 i7/7@50 o7/7@60=2");
}

static void events_begin_when_the_process_executes_the_program(void **state)
{
    (void)state;
    text.awaited = 5;
    feed(SWITCH("x-9", 10, 9, "S", 5) EXEC("x-9", 11, 9, 9) WAKING("x-5", "d..3.", 12, 5) EXEC("x-5", 20, 5, 5)
             SWITCH("x-5", 30, 5, "S", 9));
    assert_notes("!i5/5@20 o5/5@30=2");
}

static void a_thread_that_executes_a_program_gets_the_id_of_its_process(void **state)
{
    (void)state;
    feed(NEWTASK("x-5", 10, 6, "3d0f00") EXIT("x-5", 20, 5));
    assert_false(strobe_sched_text_knows(&text, 5));
    feed(EXEC("x-5", 30, 5, 6) SWITCH("x-5", 40, 5, "S", 9));
    assert_notes("+w6/5@10<5 e5/5@20!i5/5@30 o5/5@40=2");
    assert_false(strobe_sched_text_knows(&text, 6));
}

static void an_ended_thread_has_no_further_events(void **state)
{
    (void)state;
    feed(EXIT("x-5", 10, 5) SWITCH("x-5", 20, 5, "X", 9) WAKING("x-9", "d..3.", 30, 5));
    assert_notes(" e5/5@10");
}

static void a_thread_found_runnable_is_what_its_next_line_says(void **state)
{
    (void)state;
    const struct strobe_sched_note found = {
        .event = {.time_ns = 1000, .tid = 5, .what = STROBE_SCHED_IN}, .pid = 5, .kind = STROBE_SCHED_FOUND};
    assert_true(strobe_sched_text_hold(&text, &found));
    feed(SWITCH("x-9", 10, 9, "S", 5)); /* it was runnable */
    assert_true(strobe_sched_text_hold(&text, &found));
    feed(SWITCH("x-5", 20, 5, "S", 9)); /* it ran */
    assert_true(strobe_sched_text_hold(&text, &found));
    feed(WAKING("x-9", "d..3.", 30, 5)); /* it slept */
    assert_true(strobe_sched_text_hold(&text, &found));
    feed(SWITCH("x-9", 40, 9, "S", 8));
    strobe_sched_text_release(&text); /* no line: it runs */
    assert_notes("?o5/5@1=1 i5/5@10?i5/5@1 o5/5@20=2?o5/5@1=2 w5/0@30<9?i5/5@1");
    assert_int_equal(family.pending[2].event.cpu, 1);
}

static void a_switch_without_a_line_is_added(void **state)
{
    (void)state;
    feed(SWITCH("x-5", 10, 5, "S", 0) WAKING("<idle>-0", "d.h3.", 30, 5) SWITCH("x-5", 50, 5, "S", 0));
    assert_notes(" o5/5@10=2 w5/0@30<0irq i5/5@30 o5/5@50=2");
    feed("  x-9 [000] d..3. 0.000070: sched_waking: comm=x pid=5 prio=120 target_cpu=001\n" /* the thread's last line */
         SWITCH("x-5", 80, 5, "S", 0));
    assert_notes(" o5/5@10=2 w5/0@30<0irq i5/5@30 o5/5@50=2 w5/0@70<9 i5/5@70 o5/5@80=2");
}

/* The thread's line shows the switch when events after it are kept already. */
static void an_added_switch_may_be_older_than_what_is_kept(void **state)
{
    (void)state;
    feed(NEWTASK("x-5", 10, 6, "3d0f00") SWITCH("x-5", 20, 5, "S", 0) WAKING("<idle>-0", "d.h3.", 30, 5));
    feed("  x-9 [000] d..2. 0.000035: sched_switch: prev_comm=a prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=b "
         "next_pid=6 next_prio=120\n");
    strobe_sched_family_pass(&family, 40000);
    assert_int_equal(family.pending_count, 0);
    feed(SWITCH("x-5", 50, 5, "S", 0));
    assert_notes(" i5/5@30 o5/5@50=2");
    strobe_sched_family_pass(&family, 60000);
    assert_int_equal(family.late_count, 1);
    assert_int_equal(family.late[0].event.time_ns, 30000);
    assert_int_equal(family.refused, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin_text, end_text)
    const struct CMUnitTest tests[] = {
        TEST(switches_have_the_states_of_the_familys_threads),
        TEST(wakers_are_threads_or_interrupts),
        TEST(wakers_have_the_names_of_their_lines),
        TEST(threads_and_child_processes_join_the_family),
        TEST(events_begin_when_the_process_executes_the_program),
        TEST(a_thread_that_executes_a_program_gets_the_id_of_its_process),
        TEST(an_ended_thread_has_no_further_events),
        TEST(a_thread_found_runnable_is_what_its_next_line_says),
        TEST(a_switch_without_a_line_is_added),
        TEST(an_added_switch_may_be_older_than_what_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Reports of an instrumented app to its tracer: each enter and exit in the order of the true timeline; a throw in the
 * method that threw, and no exits of unwound methods; messages with their frames. */
#include "engine/base/error.h"
#include "tests/sim/support/played.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define US UINT64_C(1000)

static char heard[4096];
static size_t heard_bytes;
static uint64_t charge_ns;
static const struct sim_scenario *playing;

static void hear(const char *what, const struct sim_vthread *v, const char *name)
{
    if (v->is_main)
        heard_bytes += (size_t)snprintf(heard + heard_bytes, sizeof heard - heard_bytes, "%s%llu%s%s",
                                        heard_bytes ? " " : "", (unsigned long long)(sim_now() / US), what, name);
    assert_true(heard_bytes < sizeof heard);
}

static enum strobe_status begin(struct sim_tracer *t, struct sim_run *run)
{
    (void)t;
    playing = run->scenario;
    heard_bytes = 0;
    heard[0] = '\0';
    return STROBE_OK;
}

static void in(struct sim_tracer *t, struct sim_vthread *v, uint32_t method)
{
    (void)t;
    assert_int_equal(v->frames[v->frame_count - 1].method, method);
    hear("+", v, playing->methods[method].name);
    sim_tracer_charge(v, charge_ns);
}

static void out(struct sim_tracer *t, struct sim_vthread *v, uint32_t method)
{
    (void)t;
    assert_int_equal(v->frames[v->frame_count - 1].method, method);
    sim_tracer_charge(v, charge_ns);
    hear("-", v, playing->methods[method].name);
}

static void throws(struct sim_tracer *t, struct sim_vthread *v, uint32_t method)
{
    (void)t;
    hear("!", v, playing->methods[method].name);
}

static void message_begin(struct sim_tracer *t, struct sim_vthread *v, const struct sim_loop_message *m)
{
    char text[64];
    (void)t;
    snprintf(text, sizeof text, "%s@%llu%s", playing->methods[m->method].name, (unsigned long long)(m->due_ns / US),
             m->is_frame ? "F" : "");
    hear(">", v, text);
}

static void message_end(struct sim_tracer *t, struct sim_vthread *v, uint32_t id)
{
    char text[16];
    (void)t;
    snprintf(text, sizeof text, "%u", id);
    hear("<", v, text);
}

static enum strobe_status reconstruct_none(struct sim_tracer *t, struct sim_run *run, struct sim_tracks *out,
                                           struct strobe_error *error)
{
    (void)t, (void)run, (void)out, (void)error;
    return STROBE_OK;
}

static void free_tracer(struct sim_tracer *t)
{
    free(t);
}

static struct played p;

static void play_probed(const char *body, uint64_t cost_ns)
{
    char text[2048];
    struct sim_tracer *t = calloc(1, sizeof *t);
    assert_non_null(t);
    *t = (struct sim_tracer){.start = begin,
                             .method_in = in,
                             .method_out = out,
                             .method_throw = throws,
                             .message_begin = message_begin,
                             .message_end = message_end,
                             .reconstruct = reconstruct_none,
                             .close = free_tracer,
                             .policy = "heard"};
    charge_ns = cost_ns;
    snprintf(text, sizeof text, "scenario s \"\"\nduration 1ms\ncores 1\n%s", body);
    play(&p, text, t, NULL);
}

static void each_enter_and_exit_reaches_the_probe_in_the_truths_order(void **state)
{
    (void)state;
    play_probed("image a.so {\nmethod c { compute 2us }\nmethod b { recurse c 2; compute 1us }\n"
                "method a { call b; compute 1us }\n}\nthread main main run a\n",
                0);
    assert_string_equal(heard, "1+a 1+b 1+c 1+c 3-c 3-c 4-b 5-a");
    assert_string_equal(tracks_text(&p.run.truth, 1, US), "1 a  1 b  1 c  1 c  3 .  3 .  4 .  5 .");
    played_close(&p);
}

/* Rule r1: a method that an exception leaves has no exit; a throw is reported in it or in a callee. */
static void frames_unwound_by_an_exception_have_no_exit(void **state)
{
    (void)state;
    play_probed("image a.so {\nmethod c { compute 2us; throw }\nmethod b { call c; compute 1us }\n"
                "method a { try { call b } catch { compute 3us }; compute 1us }\n}\nthread main main run a\n",
                0);
    assert_string_equal(heard, "1+a 1+b 1+c 3!c 7-a");
    assert_string_equal(tracks_text(&p.run.truth, 1, US), "1 a  1 b  1 c  3 .  3 .  7 .");
    played_close(&p);
}

static void what_a_method_catches_of_itself_leaves_it_open(void **state)
{
    (void)state;
    play_probed("image a.so {\nmethod a { try { compute 1us; throw } catch { compute 1us }; compute 1us }\n}\n"
                "thread main main run a\n",
                0);
    assert_string_equal(heard, "1+a 2!a 4-a");
    played_close(&p);
}

static void a_thread_that_ends_from_within_passes_no_exit(void **state)
{
    (void)state;
    play_probed("image a.so {\nmethod b { compute 2us; exit }\nmethod a { call b }\n}\nthread main main run a\n", 0);
    assert_string_equal(heard, "1+a 1+b");
    played_close(&p);
}

static void messages_carry_their_due_time_and_frames_their_vsync(void **state)
{
    (void)state;
    play_probed("queue q vsync 400us frame draw\nimage a.so {\nmethod draw { compute 30us }\n"
                "method job { compute 250us }\nmethod a { post job to q after 180us; loop q }\n}\n"
                "thread main main run a\n",
                0);
    assert_string_equal(heard, "1+a 181>job@181 181+job 431-job 431<1 431>draw@400F 431+draw 461-draw 461<2 "
                               "800>draw@800F 800+draw 830-draw 830<3");
    const struct sim_track *t = track_of(&p.run.truth, 1);
    assert_int_equal(t->turn_count, 3);
    assert_int_equal(t->turns[1].due_ns, 400 * US);
    assert_true(t->turns[1].is_frame && !t->turns[0].is_frame);
    assert_int_equal(t->turns[1].begin_ns / US, 431);
    assert_int_equal(t->turns[1].end_ns / US, 461);
    played_close(&p);
}

/* Probes run inside the methods. Their cost is self time of the methods and delays the app. */
static void what_probes_cost_is_time_of_their_methods(void **state)
{
    (void)state;
    play_probed("image a.so {\nmethod b { compute 2us }\nmethod a { call b; compute 1us }\n}\nthread main main run a\n",
                10 * US);
    assert_string_equal(tracks_text(&p.run.truth, 1, US), "1 a  11 b  33 .  44 .");
    assert_int_equal(p.run.cpu.tracer_ns, 40 * US);
    played_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_enter_and_exit_reaches_the_probe_in_the_truths_order),
        cmocka_unit_test(frames_unwound_by_an_exception_have_no_exit),
        cmocka_unit_test(what_a_method_catches_of_itself_leaves_it_open),
        cmocka_unit_test(a_thread_that_ends_from_within_passes_no_exit),
        cmocka_unit_test(messages_carry_their_due_time_and_frames_their_vsync),
        cmocka_unit_test(what_probes_cost_is_time_of_their_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

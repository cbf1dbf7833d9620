/* The policy of NetEase on small apps: it captures managed frames and their waits every 10 ms. Its ring keeps the
 * newest captures. */
#include "sim/policy/policy.h"
#include "tests/sim/support/played.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

static struct played p;

static void play_text(const char *text)
{
    play(&p, text, sim_policy_netease(), NULL);
}

static void managed_frames_and_what_they_wait_in_are_seen(void **state)
{
    (void)state;
    play_text("scenario s \"\"\nduration 200ms\ncores 2\nimage lib.so { method native { compute 20ms } }\n"
              "image base.odex managed {\nmethod b { compute 35ms }\n"
              "method a { call b; sleep 40ms; jni native; compute 50ms }\n}\nthread main main run a\n");
    assert_true(time_in(&p.reconstruction, 1, "b") >= 20 * MS && time_in(&p.reconstruction, 1, "b") <= 45 * MS);
    assert_true(time_in(&p.reconstruction, 1, "[sleep]") >= 25 * MS);
    assert_true(time_in(&p.reconstruction, 1, "native") >=
                10 * MS); /* called from managed code, and so a method there */
    played_close(&p);
}

static void native_threads_have_nothing_to_capture(void **state)
{
    (void)state;
    play_text("scenario s \"\"\nduration 200ms\ncores 2\nimage lib.so { method inner { compute 50ms }\n"
              "method native { call inner } }\nimage base.odex managed {\nmethod a { compute 100ms }\n}\n"
              "thread main main run a\nthread o run native\n");
    assert_non_null(track_of(&p.reconstruction, 1));
    assert_null(track_of(&p.reconstruction, 2));
    played_close(&p);
}

/* 100 threads for 1.2 s give nearly 12,000 captures. The ring keeps the newest 8,192. */
static void overwritten_captures_are_reported(void **state)
{
    (void)state;
    play_text("scenario s \"\"\nduration 1200ms\ncores 8\nimage base.odex managed {\nmethod a { sleep 2s }\n}\n"
              "thread main main run a\nthread o x99 run a\n");
    assert_in_range(p.reconstruction.lost, 3000, 3900);
    assert_in_range(p.reconstruction.samples, 8000, 8192);
    assert_true(track_of(&p.reconstruction, 1)->begin_ns < MS || track_of(&p.reconstruction, 1)->begin_ns > 300 * MS);
    assert_int_equal(depth_at(track_of(&p.reconstruction, 1), 100 * MS), 0);
    assert_int_equal(depth_at(track_of(&p.reconstruction, 1), 1000 * MS), 2);
    played_close(&p);
}

static void a_stack_deeper_than_the_session_keeps_its_innermost_frames(void **state)
{
    (void)state;
    play_text("scenario s \"\"\nduration 100ms\ncores 2\nimage base.odex managed {\nmethod leaf { compute 60ms }\n"
              "method deep { call leaf }\nmethod a { recurse deep 250 }\n}\nthread main main run a\n");
    assert_true(time_in(&p.reconstruction, 1, "leaf") >= 40 * MS);
    assert_int_equal(calls_of(&p.reconstruction, 1, "a"), 0);
    played_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(managed_frames_and_what_they_wait_in_are_seen),
        cmocka_unit_test(native_threads_have_nothing_to_capture),
        cmocka_unit_test(overwritten_captures_are_reported),
        cmocka_unit_test(a_stack_deeper_than_the_session_keeps_its_innermost_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

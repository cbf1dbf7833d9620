/* The scheduling of a family of processes under faults: whichever allocation or write fails, the family states an
 * error, or each event is kept or refused. */
#include "engine/cmd/record/sched_family.h"
#include "tests/unit/faults/sweep.h"
#include "tests/unit/support/temp_dir.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

enum { PROCESSES = 20, THREADS = 20, ROUNDS = 3, FIRST_PID = 100, SLICE_NS = 1000 };

static void add_seen(struct strobe_sched_family *f, uint32_t pid, struct strobe_sched_event e)
{
    const struct strobe_sched_note note = {.event = e, .pid = pid, .kind = STROBE_SCHED_SEEN};
    strobe_sched_family_add(f, &note);
}

/* Each thread runs once in each round, and is woken by the thread before. In each round one event is late. Returns the
 * number of events. */
static uint64_t play_rounds(struct strobe_sched_family *f)
{
    uint64_t now = SLICE_NS, added = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < PROCESSES * THREADS; i++, now += SLICE_NS) {
            uint32_t tid = FIRST_PID + i, pid = FIRST_PID + i / THREADS * THREADS;
            add_seen(f, pid, (struct strobe_sched_event){.time_ns = now, .tid = tid, .what = STROBE_SCHED_IN});
            add_seen(f, pid,
                     (struct strobe_sched_event){
                         .time_ns = now + 1, .tid = tid, .what = STROBE_SCHED_OUT, .state = STROBE_SCHED_SLEEPING});
            add_seen(f, 0,
                     (struct strobe_sched_event){
                         .time_ns = now + 2, .tid = tid, .other = tid - 1, .what = STROBE_SCHED_WAKE});
            added += 3;
        }
        strobe_sched_family_pass(f, now);
        add_seen(f, FIRST_PID, (struct strobe_sched_event){.time_ns = 2, .tid = 1, .what = STROBE_SCHED_IN});
        added += round == 0;
    }
    return added;
}

static enum strobe_status record_family(struct strobe_error *error)
{
    struct strobe_sched_family family = {.file = -1, .names.from_proc = true};
    (void)error;
    if (strobe_sched_family_create_file(&family, temp_dir_path("s.strobe")) != STROBE_OK)
        return STROBE_IO;
    uint64_t added = play_rounds(&family);
    strobe_sched_family_finish(&family);
    enum strobe_status status = family.error ? STROBE_IO : STROBE_OK;
    if (status == STROBE_OK)
        assert_int_equal(family.kept + family.refused, added);
    strobe_sched_family_close(&family);
    return status;
}

static void the_scheduling_of_a_family_meets_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweep = {"family", "alloc write", record_family, NULL};
    sweep_faults(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_scheduling_of_a_family_meets_each_fault)};
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}

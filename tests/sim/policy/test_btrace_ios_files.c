/* Databases of btrace 3.0 of iOS: what the policy btrace-ios writes is read back as what the policy claims. Each sample
 * has its stack and times. Beyond the claim of upstream's parser, contended locks are waits with the waker that the
 * true timeline has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/trace/import/btraceios/btrace_ios_read.h"
#include "engine/util/whole_file.h"
#include "sim/policy/btrace_ios.h"
#include "sim/policy/btraceios/btrace_ios_files.h"
#include "tests/sim/support/played.h"
#include "tests/unit/support/imported.h"

static struct played p;
static char folder[TEMPORARY_BYTES];
static struct imported session;
static struct strobe_sampled *sampled;
static struct strobe_btrace_ios_stats stats;

static const char *in_folder(const char *name)
{
    static char path[TEMPORARY_BYTES + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Plays the scenario under the policy, writes the database, and imports it. */
static void play_and_import(struct sim_scenario *scenario)
{
    struct strobe_error error = {""};
    struct sim_run_options options = {.seed = 7, .replace = true};
    struct strobe_btrace_ios_options selected = {STROBE_BTRACE_IOS_LAST_TRACE};
    struct strobe_whole_file file;
    options.costs = sim_costs_default;
    play_scenario(&p, scenario, sim_policy_btrace_ios(), &options);
    if (p.tracer->save(p.tracer, &p.run, folder, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(strobe_whole_file_open(in_folder("btrace.sqlite"), &file), STROBE_OK);
    assert_int_equal(strobe_sampled_open(&sampled), STROBE_OK);
    strobe_sampled_interval(sampled, 1000000, 0);
    if (strobe_btrace_ios_read(file.at, file.bytes, &selected, sampled, &stats, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    imported_open(&session, sampled);
    strobe_whole_file_close(&file);
}

static void close_both(void)
{
    imported_close(&session);
    strobe_sampled_close(sampled);
    played_close(&p);
}

static void shown_stack(uint32_t stack, char *out, size_t bytes)
{
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count;
    size_t n = 0;
    assert_int_equal(
        strobe_stack_frames(&session.reader->session.stacks, stack, frames, STROBE_STACK_DEPTH_MAX, &count), STROBE_OK);
    out[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = sim_btrace_ios_name(p.scenario, frames[i]);
        if (name)
            n += (size_t)snprintf(out + n, bytes - n, "%s%s", n ? ";" : "", name);
        assert_true(n < bytes);
    }
}

/* Compares the stacks of the samples. The parser replaces and moves samples of one time, and shows the last one for no
 * time. Returns the number of compared samples. */
static size_t assert_stacks_as_claimed(const struct sim_track *claim, const struct strobe_reader_thread *t)
{
    static char claimed[1 << 14], shown[1 << 14];
    size_t compared = 0;
    for (size_t i = 0; i + 1 < t->item_count; i++) {
        const struct strobe_record *r = &t->items[i].record;
        bool again = t->items[i + 1].record.ticks == r->ticks || (i && t->items[i - 1].record.ticks == r->ticks);
        calls_at(&p.reconstruction, claim, r->ticks, claimed, sizeof claimed);
        shown_stack(r->stack, shown, sizeof shown);
        if (again || !shown[0])
            continue;
        assert_string_equal(shown, claimed);
        compared++;
    }
    return compared;
}

static size_t assert_as_claimed(void)
{
    size_t compared = 0;
    for (size_t i = 0; i < p.reconstruction.track_count; i++) {
        const struct sim_track *claim = &p.reconstruction.tracks[i];
        const struct strobe_reader_thread *t = imported_thread(&session, claim->tid);
        assert_non_null(t);
        assert_string_equal(t->name, claim->name);
        compared += assert_stacks_as_claimed(claim, t);
    }
    assert_int_equal(stats.damaged + stats.damaged_tables + stats.stackless + stats.backwards, 0);
    return compared;
}

static void an_import_claims_what_the_policy_claims(void **state)
{
    (void)state;
    static const char *const names[] = {"s_01_dense_hooks", "s_02_block_after_sample", "s_51_long_gap",
                                        "s_53_wait_then_other_leaf"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        play_and_import(scenario_called(names[i]));
        size_t compared = assert_as_claimed();
        print_message("%s: %zu of %llu samples compared\n", names[i], compared, (unsigned long long)stats.rows);
        assert_true(compared > 0);
        close_both();
    }
}

static const char contended[] = "scenario contended \"Main waits for a lock\"\n"
                                "duration 300ms\ncores 4\n"
                                "image libapp.so {\n"
                                " method Main.run { forever { compute 2ms; lock l { compute 200us } } }\n"
                                " method Work.run { forever { lock l { compute 3ms }; sleep 2ms } }\n"
                                "}\n"
                                "mutex l\n"
                                "thread main main run Main.run\nthread work run Work.run\n";

/* Returns the wait of the true timeline at this time, to a tick of the database. */
static const struct sim_wait *true_wait(const struct sim_track *truth, uint64_t begin_ns, uint64_t end_ns)
{
    for (size_t i = 0; i < truth->wait_count; i++) {
        const struct sim_wait *w = &truth->waits[i];
        uint64_t begin = begin_ns > w->begin_ns ? begin_ns - w->begin_ns : w->begin_ns - begin_ns;
        uint64_t end = end_ns > w->end_ns ? end_ns - w->end_ns : w->end_ns - end_ns;
        if (begin < 50000 && end < 50000)
            return w;
    }
    return NULL;
}

static void a_contended_lock_is_a_wait_with_its_waker(void **state)
{
    (void)state;
    struct strobe_error error = {""};
    struct sim_scenario *scenario = NULL;
    if (sim_scenario_parse(contended, "contended", &scenario, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    play_and_import(scenario);
    const struct strobe_reader_thread *t = imported_thread(&session, 1);
    const struct sim_track *truth = track_of(&p.run.truth, 1);
    assert_true(t->is_main);
    size_t waits = 0;
    for (size_t i = 0; i < t->item_count; i++) {
        const struct strobe_record *r = &t->items[i].record;
        if (!(r->flags & STROBE_FLAG_SCOPE))
            continue;
        waits++;
        assert_int_equal(r->kind, STROBE_KIND_MUTEX);
        assert_non_null(true_wait(truth, r->ticks, r->ticks + r->duration));
    }
    print_message("%zu waits, %zu with a waker, %zu true ones\n", waits, t->woken_count, truth->wait_count);
    assert_true(waits > 10 && waits == stats.waits);
    assert_true(t->woken_count > waits / 2 && t->woken_count == stats.wakers);
    for (size_t i = 0; i < t->woken_count; i++)
        assert_int_equal(session.reader->threads[t->woken[i].waker].tid, 2);
    assert_int_equal(stats.unpaired, 0);
    close_both();
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(temporary_path(folder, "strobe-btrace-XXXXXX")) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(in_folder("btrace.sqlite"));
    unlink(in_folder("trace.pftrace"));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_import_claims_what_the_policy_claims),
        cmocka_unit_test(a_contended_lock_is_a_wait_with_its_waker),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* Files of btrace 3.0: what the policy btrace-android writes is read back as what the policy claims. Each record has
 * its stack, times and CPU time; each wait its begin, end, kind and waker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/trace/import/btrace3/btrace3_read.h"
#include "engine/trace/model/function_tree.h"
#include "engine/util/whole_file.h"
#include "sim/policy/btrace_android.h"
#include "sim/policy/btrace_android_files.h"
#include "tests/sim/support/played.h"
#include "tests/unit/support/imported.h"

static struct played p;
static char folder[TEMPORARY_BYTES];
static struct imported session;
static struct strobe_sampled *sampled;
static struct strobe_btrace3_stats stats;

static const char *in_folder(const char *name)
{
    static char path[2][TEMPORARY_BYTES + 32];
    static unsigned turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

/* Plays the scenario under the policy, writes the files, and imports them. */
static void play_and_import(const char *name)
{
    struct strobe_error error = {""};
    struct sim_run_options options = {.seed = 7, .replace = true};
    struct strobe_whole_file sampling, mapping;
    bool of_mapping;
    options.costs = sim_costs_default;
    play_called(&p, name, sim_policy_btrace_android(), &options);
    if (p.tracer->save(p.tracer, &p.run, folder, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(strobe_whole_file_open(in_folder("sampling"), &sampling), STROBE_OK);
    assert_int_equal(strobe_whole_file_open(in_folder("sampling-mapping"), &mapping), STROBE_OK);
    struct strobe_btrace3_files files = {sampling.at, mapping.at, sampling.bytes, mapping.bytes};
    assert_int_equal(strobe_sampled_open(&sampled), STROBE_OK);
    strobe_sampled_interval(sampled, 1000000, 0);
    if (strobe_btrace3_read(&files, sampled, &stats, &of_mapping, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    imported_open(&session, sampled);
    strobe_whole_file_close(&sampling);
    strobe_whole_file_close(&mapping);
}

static void close_both(void)
{
    imported_close(&session);
    strobe_sampled_close(sampled);
    played_close(&p);
}

/* Writes the record's stack with the claim's names of waits: those of the system's frames, and the leaf of a call
 * without a frame. */
static void shown_stack(const struct strobe_item *item, char *out, size_t bytes)
{
    const char *text = imported_stack(&session, item->record.stack);
    enum strobe_kind kind = item->record.kind;
    size_t n = 0;
    out[0] = 0;
    while (*text) {
        bool is_wait = false;
        for (unsigned k = 1; k < STROBE_KIND_COUNT && !is_wait; k++) {
            const char *frame = sim_btrace_wait_frame((enum strobe_kind)k);
            is_wait = frame && !strncmp(text, frame, strlen(frame));
            if (is_wait) {
                n += (size_t)snprintf(out + n, bytes - n, "%s%s", n ? ";" : "", strobe_wait_name(k));
                text += strlen(frame);
            }
        }
        size_t length = is_wait ? 0 : strcspn(text, ";");
        if (length)
            n += (size_t)snprintf(out + n, bytes - n, "%s%.*s", n ? ";" : "", (int)length, text);
        text += length;
        text += *text == ';';
    }
    if (kind == STROBE_KIND_MONITOR || kind == STROBE_KIND_GC)
        n += (size_t)snprintf(out + n, bytes - n, "%s%s", n ? ";" : "", strobe_wait_name(kind));
    assert_true(n < bytes);
}

static void assert_stacks_as_claimed(const struct sim_track *claim, const struct strobe_reader_thread *t)
{
    static char claimed[1 << 14], shown[1 << 14];
    for (size_t i = 0; i < t->item_count; i++) {
        const struct strobe_record *r = &t->items[i].record;
        bool again = i + 1 < t->item_count && t->items[i + 1].record.ticks == r->ticks;
        if (again) /* the claim shows the last of several samples at one time */
            continue;
        calls_at(&p.reconstruction, claim, r->ticks, claimed, sizeof claimed);
        shown_stack(&t->items[i], shown, sizeof shown);
        assert_string_equal(shown, claimed);
        if (r->flags & STROBE_FLAG_SCOPE) {
            calls_at(&p.reconstruction, claim, r->ticks + r->duration, claimed, sizeof claimed);
            bool next = i + 1 < t->item_count && t->items[i + 1].record.ticks <= r->ticks + r->duration;
            if (!next)
                assert_string_equal(shown, claimed);
        }
    }
}

static int by_wait_end(const void *a, const void *b)
{
    const struct sim_wait *x = a, *y = b;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* Compares waits in the order of their ends. Returns the number of those with a waker. */
static size_t assert_waits_as_claimed(const struct sim_track *claim, const struct strobe_reader_thread *t)
{
    struct sim_wait *claimed = calloc(claim->wait_count + 1, sizeof *claimed),
                    *shown = calloc(t->item_count + 1, sizeof *shown);
    size_t count = 0, woken = 0;
    assert_true(claimed && shown);
    if (claim->wait_count)
        memcpy(claimed, claim->waits, claim->wait_count * sizeof *claimed);
    for (size_t i = 0; i < t->item_count; i++) {
        const struct strobe_record *r = &t->items[i].record;
        if (r->flags & STROBE_FLAG_SCOPE)
            shown[count++] = (struct sim_wait){
                .begin_ns = r->ticks, .end_ns = r->ticks + r->duration, .kind = (enum strobe_kind)r->kind};
    }
    assert_int_equal(count, claim->wait_count);
    qsort(claimed, count, sizeof *claimed, by_wait_end);
    qsort(shown, count, sizeof *shown, by_wait_end);
    for (size_t i = 0; i < count; i++) {
        const struct strobe_reader_wake *wake = NULL;
        assert_int_equal(shown[i].begin_ns, claimed[i].begin_ns);
        assert_int_equal(shown[i].end_ns, claimed[i].end_ns);
        assert_int_equal(shown[i].kind, claimed[i].kind);
        for (size_t k = 0; k < t->woken_count; k++)
            if (t->woken[k].end_ticks == shown[i].end_ns)
                wake = &t->woken[k];
        assert_int_equal(wake != NULL, claimed[i].waker != SIM_NOBODY);
        if (!wake)
            continue;
        woken++;
        assert_int_equal(wake->release_ticks, claimed[i].release_ns);
        assert_int_equal(session.reader->threads[wake->waker].tid, p.reconstruction.tracks[claimed[i].waker].tid);
    }
    free(claimed);
    free(shown);
    return woken;
}

/* Compares all threads. Returns the number of waits with a waker. */
static size_t assert_as_claimed(void)
{
    size_t records = 0, woken = 0;
    for (size_t i = 0; i < p.reconstruction.track_count; i++) {
        const struct sim_track *claim = &p.reconstruction.tracks[i];
        const struct strobe_reader_thread *t = imported_thread(&session, claim->tid);
        assert_non_null(t);
        assert_int_equal(t->is_main, claim->is_main);
        records += t->item_count;
        assert_stacks_as_claimed(claim, t);
        woken += assert_waits_as_claimed(claim, t);
    }
    assert_int_equal(records, stats.records);
    assert_int_equal(stats.damaged + stats.tail_bytes + stats.mapping_tail + stats.empty + stats.nameless, 0);
    assert_true(records > 0);
    return woken;
}

static void an_import_claims_what_the_policy_claims(void **state)
{
    (void)state;
    static const char *const names[] = {"s_01_dense_hooks", "s_02_block_after_sample", "s_51_long_gap",
                                        "s_53_wait_then_other_leaf", "s_52_single_sample"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        play_and_import(names[i]);
        assert_as_claimed();
        close_both();
    }
}

static void an_import_has_the_wakers_of_the_policy(void **state)
{
    (void)state;
    play_and_import("s_70_three_exits");
    assert_true(assert_as_claimed() > 10);
    close_both();
    play_and_import("s_71_notify_two_waiters");
    assert_true(assert_as_claimed() > 10);
    close_both();
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(temporary_path(folder, "strobe-btrace-XXXXXX")) ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"sampling", "sampling-mapping", "trace.pftrace"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(in_folder(names[i]));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_import_claims_what_the_policy_claims),
        cmocka_unit_test(an_import_has_the_wakers_of_the_policy),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

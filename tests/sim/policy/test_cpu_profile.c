/* CPU profiles of sessions in virtual time, where the true CPU time of each method is known (S-6b). */
#include "engine/trace/model/sink.h"
#include "sim/policy/policy.h"
#include "sim/policy/strobe.h"
#include "tests/sim/support/played.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* A sink that adds up the CPU shares of two methods, and counts the ticks. */
static struct {
    const struct strobe_function_tree *tree;
    double first_ns, second_ns;
} added;

static void start_adding(struct strobe_sink *sink, const struct strobe_reader *reader,
                         struct strobe_function_tree *tree)
{
    (void)sink, (void)reader;
    added.tree = tree;
    added.first_ns = added.second_ns = 0;
}

static void begin_added_thread(struct strobe_sink *sink, const struct strobe_reader_thread *t)
{
    (void)sink, (void)t;
}

static void begin_added_slice(struct strobe_sink *sink, const struct strobe_slice *slice)
{
    (void)sink, (void)slice;
}

static void end_added_slice(struct strobe_sink *sink, const struct strobe_slice *slice, const struct strobe_moment *now)
{
    (void)sink, (void)slice, (void)now;
}

static enum strobe_status finish_adding(struct strobe_sink *sink)
{
    (void)sink;
    return STROBE_OK;
}

static void add_cpu_share(struct strobe_sink *sink, const struct strobe_cpu_share *share)
{
    const struct strobe_function_node *n = strobe_function_tree_node(added.tree, share->node);
    const char *name = strobe_function_tree_name(added.tree, n->name)->text;
    (void)sink;
    added.first_ns += strcmp(name, "after_wake") == 0 ? (double)share->cpu_ns : 0;
    added.second_ns += strcmp(name, "work") == 0 ? (double)share->cpu_ns : 0;
}

static struct strobe_sink adder = {.start = start_adding,
                                   .thread_begin = begin_added_thread,
                                   .slice_begin = begin_added_slice,
                                   .slice_end = end_added_slice,
                                   .finish = finish_adding,
                                   .cpu = add_cpu_share};

/* ---- S-6b */

/* after_wake has a third of both methods' time. The share of a method among n samples has a standard deviation of
 * sqrt(p (1 - p) / n). The bound is four of them: exceeded by chance in one of 16,000 seeds. */
static void code_right_after_a_wait_has_its_share_of_cpu_time_S6b(void **state)
{
    (void)state;
    struct played p;
    double first_ns = 0, second_ns = 0, ticks = 0, sparse_ticks = 0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        play_called(&p, "s_06b_after_waits", sim_policy_strobe(),
                    &(struct sim_run_options){.seed = seed, .costs = sim_costs_default});
        const struct strobe_reader *r = captured(&p);
        for (size_t i = 0; i < r->item_count; i++) {
            const struct strobe_record *record = &r->items[i].record;
            bool tick = record->kind == STROBE_KIND_CPU && !(record->flags & STROBE_FLAG_ASKED);
            ticks += tick ? record->count : 0;
            sparse_ticks += tick && record->flags & STROBE_FLAG_SPARSE ? record->count : 0;
        }
        assert_int_equal(sim_strobe_build((const struct sim_strobe *)p.tracer, &adder), STROBE_OK);
        first_ns += added.first_ns;
        second_ns += added.second_ns;
        played_close(&p);
    }
    double share = first_ns / (first_ns + second_ns), sigma = sqrt(1.0 / 3 * 2 / 3 / ticks);
    print_message("after_wake has %.1f %% of 33.3 %%, standard deviation %.1f %%, of %.0f ticks, %.0f of them sparse\n",
                  100 * share, 100 * sigma, ticks, sparse_ticks);
    assert_true(sparse_ticks > ticks / 2);
    assert_true(fabs(share - 1.0 / 3) < 4 * sigma);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_right_after_a_wait_has_its_share_of_cpu_time_S6b),
    };
    return cmocka_run_group_tests_name("CPU profiles", tests, NULL, NULL);
}

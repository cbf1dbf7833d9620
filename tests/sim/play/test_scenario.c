/* Scenarios: the parser yields the written meaning, the printed text reads back as the same scenario, and values are
 * random only where the text requests that. */
#include "engine/base/error.h"
#include "sim/app/syntax.h"
#include "sim/runtime/run.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct sim_scenario *parsed(const char *text)
{
    struct sim_scenario *s;
    struct strobe_error error = {""};
    if (sim_scenario_parse(text, "test.scn", &s, &error) != STROBE_OK)
        fail_msg("%s\n%s", error.text, text);
    return s;
}

/* ---- equality of trees, except for positions in the text */

static bool same_dist(const struct sim_dist *a, const struct sim_dist *b)
{
    return a->kind == b->kind && a->a == b->a && a->b == b->b && !(a->sigma < b->sigma) && !(a->sigma > b->sigma) &&
           a->count == b->count && (!a->count || !memcmp(a->values, b->values, a->count * sizeof *a->values));
}

static bool same_op(const struct sim_op *a, const struct sim_op *b)
{
    return a->kind == b->kind && a->object == b->object && a->other == b->other && a->block == b->block &&
           a->other_block == b->other_block && a->method == b->method && a->first == b->first && a->count == b->count &&
           a->priority == b->priority && same_dist(&a->amount, &b->amount) && same_dist(&a->size, &b->size);
}

static bool same_method(const struct sim_method *a, const struct sim_method *b)
{
    return !strcmp(a->name, b->name) && a->image == b->image && a->address == b->address && a->bytes == b->bytes &&
           a->managed == b->managed && a->frameless == b->frameless && a->frame_bytes == b->frame_bytes &&
           a->block == b->block;
}

static bool same_image(const struct sim_image *a, const struct sim_image *b)
{
    return !strcmp(a->name, b->name) && a->start == b->start && a->bytes == b->bytes &&
           a->loaded_at_start == b->loaded_at_start;
}

static bool same_lock(const struct sim_lock *a, const struct sim_lock *b)
{
    return !strcmp(a->name, b->name) && a->kind == b->kind;
}

static bool same_named(const struct sim_named *a, const struct sim_named *b)
{
    return !strcmp(a->name, b->name);
}

static bool same_semaphore(const struct sim_semaphore *a, const struct sim_semaphore *b)
{
    return !strcmp(a->name, b->name) && a->count == b->count;
}

static bool same_queue(const struct sim_queue *a, const struct sim_queue *b)
{
    return !strcmp(a->name, b->name) && a->vsync_period_ns == b->vsync_period_ns && a->frame_method == b->frame_method;
}

static bool same_thread(const struct sim_thread_spec *a, const struct sim_thread_spec *b)
{
    return !strcmp(a->name, b->name) && a->entry == b->entry && a->count == b->count && a->tid == b->tid &&
           a->reuse_tid == b->reuse_tid && a->is_main == b->is_main && a->nice == b->nice &&
           same_dist(&a->start, &b->start);
}

static bool same_fault(const struct sim_fault *a, const struct sim_fault *b)
{
    return a->kind == b->kind && a->at_ns == b->at_ns && a->times == b->times && !(a->chance < b->chance) &&
           !(a->chance > b->chance) && a->thread == b->thread && a->amount == b->amount;
}

static bool same_expect(const struct sim_expect *a, const struct sim_expect *b)
{
    return !strcmp(a->score, b->score) && !strcmp(a->policy, b->policy) && !a->runtime == !b->runtime &&
           (!a->runtime || !strcmp(a->runtime, b->runtime)) && !(a->low < b->low) && !(a->low > b->low) &&
           !(a->high < b->high) && !(a->high > b->high);
}

static bool same_block(const struct sim_block *a, const struct sim_block *b)
{
    return a->first == b->first && a->count == b->count;
}

static bool same_arm(const struct sim_arm *a, const struct sim_arm *b)
{
    return a->weight == b->weight && a->block == b->block;
}

#define ASSERT_SAME(items, count, same)                                                                                \
    do {                                                                                                               \
        assert_int_equal(a->count, b->count);                                                                          \
        for (uint32_t i_ = 0; i_ < a->count; i_++)                                                                     \
            if (!same(&a->items[i_], &b->items[i_]))                                                                   \
                fail_msg(#items " %u differs", i_);                                                                    \
    } while (0)

static void assert_same(const struct sim_scenario *a, const struct sim_scenario *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->about, b->about);
    assert_int_equal(a->duration_ns, b->duration_ns);
    assert_int_equal(a->cores, b->cores);
    assert_int_equal(a->busy, b->busy);
    assert_memory_equal(&a->config, &b->config, sizeof a->config);
    ASSERT_SAME(ops, op_count, same_op);
    ASSERT_SAME(blocks, block_count, same_block);
    ASSERT_SAME(arms, arm_count, same_arm);
    ASSERT_SAME(images, image_count, same_image);
    ASSERT_SAME(methods, method_count, same_method);
    ASSERT_SAME(locks, lock_count, same_lock);
    ASSERT_SAME(conds, cond_count, same_named);
    ASSERT_SAME(sems, sem_count, same_semaphore);
    ASSERT_SAME(queues, queue_count, same_queue);
    ASSERT_SAME(threads, thread_count, same_thread);
    ASSERT_SAME(faults, fault_count, same_fault);
    ASSERT_SAME(expects, expect_count, same_expect);
}

static void assert_prints_as_it_reads(const struct sim_scenario *s)
{
    char *text = sim_scenario_print(s);
    assert_non_null(text);
    struct sim_scenario *again = parsed(text);
    assert_same(s, again);
    sim_scenario_free(again);
    free(text);
}

/* ---- the language */

/* Each construct of the language, once. */
static const char everything[] =
    "# All of it.\n"
    "scenario all \"with \\\"quotes\\\" and \\\\, in UTF-8: \xc3\xa9\"\n"
    "duration 1.5s; cores 2; busy 3\n"
    "config interval_main 500us\nconfig metrics cpu faults\nconfig ring_mode oldest\nconfig ring_slots 4096\n"
    "image app managed { method Main.run frame 128 { call \"-[A b:]\"; jni nat } }\n"
    "image late.so later\n"
    "method nat in app { compute 1us }\n"
    "method \"-[A b:]\" managed {\n"
    "    recurse leaf 2..5\n"
    "    repeat exp(3) { call leaf }\n"
    "    choose { 3 { } 1 { alloc 4KiB; free 1 } }\n"
    "    lock m { compute lognormal(1ms, 0.25); wait c holding m timeout 1ms..2ms }\n"
    "    synchronized o { wait c holding o; notify c; notify_all c }\n"
    "    read_lock r { sleep 1min }\n"
    "    write_lock r { clock }\n"
    "    spin m every 10us { compute one_of(1us, 2us, 3us) }\n"
    "    acquire s timeout 1s; release s; acquire s\n"
    "    park; park timeout 3ms; unpark worker\n"
    "    read 4KiB takes 1ms; write 100..200 takes 2ms; open takes 3us; sync takes 4us; net 1MiB takes 5us\n"
    "    ipc takes exp(1ms)\n"
    "    post leaf to q; post leaf to q after 5ms; post leaf to q after 1ms priority -3; post leaf to q priority 2\n"
    "    try { throw } catch { compute 1ns }\n"
    "    load late.so takes 20ms\n"
    "    gc takes 2ms\n"
    "    spawn worker; join worker\n"
    "    fault clock_back of 5ms times 1\n"
    "    try { exit } catch { forever { sleep 1h } }\n"
    "}\n"
    "method leaf frameless { compute 0 }\n"
    "method looping { loop q }\n"
    "mutex m\nmonitor o\nrwlock r\ncond c\nsemaphore s 3\n"
    "queue q vsync 16666667ns frame leaf\nqueue plain\n"
    "thread main main run Main.run\n"
    "thread worker x0 reuse_tid nice -5 run looping\n"
    "thread many x12 start exp(2ms) run Main.run\n"
    "thread far tid 4194303 run looping\n"
    "fault suspend_refused at 1s times 3 chance 0.125 thread worker\n"
    "fault short_write of 4KiB\n"
    "expect agreement strobe 0.95..1\nexpect bytes btrace-ios 0..123456.5\n"
    "expect agreement strobe on fake30 0.9..1\nexpect agreement ideal on fake 0..1\n";

static const struct sim_op *op_of(const struct sim_scenario *s, enum sim_op_kind kind)
{
    for (uint32_t i = 0; i < s->op_count; i++)
        if (s->ops[i].kind == kind)
            return &s->ops[i];
    fail_msg("no '%s' in the scenario", sim_op_word(kind));
    return NULL;
}

static void every_operation_of_the_language_can_be_said(void **state)
{
    struct sim_scenario *s = parsed(everything);
    (void)state;
    for (int k = 0; k < SIM_OP_KINDS; k++)
        assert_int_equal(op_of(s, (enum sim_op_kind)k)->kind, k);
    sim_scenario_free(s);
}

static void what_is_read_is_what_was_written(void **state)
{
    struct sim_scenario *s = parsed(everything);
    (void)state;
    assert_string_equal(s->about, "with \"quotes\" and \\, in UTF-8: \xc3\xa9");
    assert_int_equal(s->duration_ns, 1500000000);
    assert_int_equal(s->config.interval_main_ns, 500000);
    assert_int_equal(s->config.metrics, STROBE_METRIC_CPU | STROBE_METRIC_FAULTS);
    assert_int_equal(s->config.ring_mode, STROBE_KEEP_OLDEST);
    assert_string_equal(s->methods[0].name, "Main.run");
    assert_true(s->methods[0].managed && s->methods[0].frame_bytes == 128);
    assert_true(!s->methods[1].managed && s->methods[3].frameless);
    assert_int_equal(s->methods[3].frame_bytes, 0);
    const struct sim_op *wait = op_of(s, SIM_OP_WAIT), *post = op_of(s, SIM_OP_POST), *net = op_of(s, SIM_OP_NET);
    assert_string_equal(s->locks[wait->other].name, "m");
    assert_true(wait->amount.kind == SIM_DIST_UNIFORM && wait->amount.a == 1000000 && wait->amount.b == 2000000);
    assert_string_equal(s->methods[post->method].name, "leaf");
    assert_string_equal(s->queues[post->object].name, "q");
    assert_true(post[2].priority == -3 && post[2].amount.a == 1000000 && post[3].priority == 2);
    assert_true(net->size.a == 1 << 20 && net->amount.a == 5000);
    assert_int_equal(op_of(s, SIM_OP_SLEEP)->amount.a, UINT64_C(60000000000));
    assert_true(s->arms[0].weight == 3 && s->arms[0].block == 0 && s->arms[1].weight == 1);
    assert_true(s->threads[1].count == 0 && s->threads[1].reuse_tid && s->threads[1].nice == -5);
    assert_true(s->threads[2].count == 12 && s->threads[2].start.kind == SIM_DIST_EXPONENTIAL);
    assert_int_equal(s->threads[3].tid, 4194303);
    assert_true(s->faults[0].thread == 2 && s->faults[0].times == 3 && s->faults[0].at_ns == 1000000000);
    assert_int_equal(s->faults[op_of(s, SIM_OP_FAULT)->object].kind, SIM_FAULT_CLOCK_BACK);
    assert_int_equal(s->faults[op_of(s, SIM_OP_FAULT)->object].amount, 5000000);
    assert_true(s->expects[1].high > 123456.4 && s->expects[1].high < 123456.6);
    assert_true(sim_expect_covers(&s->expects[1], NULL) && !sim_expect_covers(&s->expects[1], "fake30"));
    assert_true(sim_expect_covers(&s->expects[2], "fake30") && !sim_expect_covers(&s->expects[2], "fake31"));
    assert_true(sim_expect_covers(&s->expects[3], "fake31") && !sim_expect_covers(&s->expects[3], "mach"));
    assert_true(!sim_expect_covers(&s->expects[3], NULL));
    sim_scenario_free(s);
}

static void operations_say_where_they_stand(void **state)
{
    struct sim_scenario *s = parsed(everything);
    (void)state;
    assert_int_equal(op_of(s, SIM_OP_RECURSE)->line, 12);
    assert_int_equal(op_of(s, SIM_OP_RECURSE)->column, 5);
    sim_scenario_free(s);
}

static void blocks_hold_their_own_operations_side_by_side(void **state)
{
    struct sim_scenario *s = parsed(everything);
    uint32_t sum = 0;
    (void)state;
    assert_int_equal(s->blocks[0].count, 0);
    for (uint32_t b = 0; b < s->block_count; b++)
        sum += s->blocks[b].count;
    assert_int_equal(sum, s->op_count);
    sim_scenario_free(s);
}

static void code_of_methods_does_not_overlap_and_lies_in_its_image(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct sim_scenario *s = sim_scenario_random(seed, 200, false);
        assert_non_null(s);
        uint64_t last[8] = {0};
        for (uint32_t m = 0; m < s->method_count; m++) {
            const struct sim_method *method = &s->methods[m];
            const struct sim_image *image = &s->images[method->image];
            assert_true(method->bytes >= 64 && method->address % 16 == 0);
            assert_true(method->address >= image->start && method->address >= last[method->image]);
            last[method->image] = method->address + method->bytes;
            assert_true(last[method->image] <= image->start + image->bytes);
        }
        sim_scenario_free(s);
    }
}

/* ---- the help page */

static void the_page_shows_an_app_that_reads(void **state)
{
    char text[2048];
    const char *begin = strstr(sim_scenario_help, "    # Two threads"), *end = strstr(sim_scenario_help, "\nFORM\n");
    (void)state;
    assert_true(begin && end && end > begin && end - begin < (ptrdiff_t)sizeof text);
    memcpy(text, begin, (size_t)(end - begin));
    text[end - begin] = '\0';
    sim_scenario_free(parsed(text));
}

static void assert_on_the_page(const char *word)
{
    size_t bytes = strlen(word);
    for (const char *p = sim_scenario_help; (p = strstr(p, word)); p++)
        if (strchr(" \n", p[-1]) && p[bytes] && strchr(" ,.:;\n", p[bytes]))
            return;
    fail_msg("the page does not describe '%s'", word);
}

static void the_page_describes_every_operation_fault_and_setting(void **state)
{
    (void)state;
    for (int k = 0; k < SIM_OP_KINDS; k++)
        assert_on_the_page(sim_op_word((enum sim_op_kind)k));
    for (int k = 0; k < SIM_FAULT_KINDS; k++)
        assert_on_the_page(sim_fault_word((enum sim_fault_kind)k));
    for (const struct sim_setting *setting = sim_settings; setting->name; setting++)
        assert_on_the_page(setting->name);
}

/* ---- printing */

static void a_scenario_with_everything_prints_as_it_reads(void **state)
{
    struct sim_scenario *s = parsed(everything);
    (void)state;
    assert_prints_as_it_reads(s);
    sim_scenario_free(s);
}

static unsigned files_print_as_they_read(const char *pattern)
{
    glob_t found;
    struct strobe_error error = {""};
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    unsigned count = (unsigned)found.gl_pathc;
    for (unsigned i = 0; i < count; i++) {
        struct sim_scenario *s;
        if (sim_scenario_read(found.gl_pathv[i], &s, &error) != STROBE_OK)
            fail_msg("%s", error.text);
        assert_string_equal(s->path, found.gl_pathv[i]);
        assert_prints_as_it_reads(s);
        sim_scenario_free(s);
    }
    globfree(&found);
    return count;
}

static void all_scenarios_of_the_house_read_and_print_as_they_read(void **state)
{
    (void)state;
    assert_true(files_print_as_they_read("fixtures/scenarios/*.scn") >= 20);
    assert_true(files_print_as_they_read("tests/sim/scenarios/*.scn") >= 10);
}

static void random_scenarios_print_as_they_read(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 600; seed++) {
        struct sim_scenario *s = sim_scenario_random(seed, (uint32_t)(seed * 37 % 400), seed & 1);
        if (seed % 100 == 0)
            print_message("seeds from %llu\n", (unsigned long long)seed);
        assert_non_null(s);
        assert_prints_as_it_reads(s);
        sim_scenario_free(s);
    }
}

/* ---- random scenarios */

static void a_seed_always_makes_the_same_scenario(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct sim_scenario *a = sim_scenario_random(seed, 100, false), *b = sim_scenario_random(seed, 100, false);
        assert_non_null(a);
        assert_non_null(b);
        assert_same(a, b);
        sim_scenario_free(a);
        sim_scenario_free(b);
    }
}

/* Checks the FNV-1a hash of the scenarios of 50 seeds. It must be the same with each machine and compiler, so the order
 * of draws must not depend on the compiler. */
static void seeds_make_the_same_scenarios_everywhere(void **state)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct sim_scenario *s = sim_scenario_random(seed, 150, seed & 1);
        assert_non_null(s);
        char *text = sim_scenario_print(s);
        assert_non_null(text);
        for (const char *p = text; *p; p++)
            hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
        free(text);
        sim_scenario_free(s);
    }
    assert_int_equal(hash, UINT64_C(0xeb7cba98e95ea446));
}

static void sizes_are_about_the_requested_ones(void **state)
{
    static const uint32_t sizes[] = {100, 1000, 5000};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t sum = 0;
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct sim_scenario *s = sim_scenario_random(seed, sizes[i], false);
            assert_non_null(s);
            sum += s->op_count;
            sim_scenario_free(s);
        }
        assert_in_range(sum / 20, sizes[i] / 2, sizes[i] * 2);
    }
}

/* Swarm testing needs this: each seed lacks most of the operations that other seeds have. */
static void seeds_differ_in_what_they_use_and_together_use_almost_all(void **state)
{
    unsigned users[SIM_OP_KINDS] = {0};
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct sim_scenario *s = sim_scenario_random(seed, 300, false);
        bool uses[SIM_OP_KINDS] = {false};
        assert_non_null(s);
        for (uint32_t i = 0; i < s->op_count; i++)
            uses[s->ops[i].kind] = true;
        for (int k = 0; k < SIM_OP_KINDS; k++)
            users[k] += uses[k];
        sim_scenario_free(s);
    }
    for (int k = 0; k < SIM_OP_KINDS; k++) {
        if (k == SIM_OP_FOREVER || k == SIM_OP_EXIT || k == SIM_OP_FAULT)
            assert_int_equal(users[k], 0);
        else if (users[k] < 10 || (users[k] > 190 && k > SIM_OP_REPEAT))
            fail_msg("'%s' is used by %u of 200 seeds", sim_op_word((enum sim_op_kind)k), users[k]);
    }
}

/* Plays a scenario without a tracer and returns how it ends. */
static enum sim_end played(const struct sim_scenario *s, uint64_t seed, char *end_why)
{
    static struct sim_run run;
    struct sim_run_options options = {
        .seed = seed, .schedule = seed & 1 ? SIM_ADVERSARIAL : SIM_FAIR, .costs = sim_costs_default};
    struct strobe_error error = {""};
    if (sim_run_play(&run, s, &options, NULL, &error) != STROBE_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
    enum sim_end end = run.end;
    strcpy(end_why, run.end_why);
    sim_run_close(&run);
    return end;
}

static void random_scenarios_play_to_their_end(void **state)
{
    unsigned deadlocks = 0;
    struct strobe_error error;
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct sim_scenario *s = sim_scenario_random(seed, (uint32_t)(20 + seed), false);
        assert_non_null(s);
        enum sim_end end = played(s, seed, error.text);
        if (end != SIM_END_DONE && end != SIM_END_LIMIT)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
        sim_scenario_free(s);
        s = sim_scenario_random(seed, (uint32_t)(20 + seed), true);
        assert_non_null(s);
        deadlocks += played(s, seed, error.text) == SIM_END_DEADLOCK;
        sim_scenario_free(s);
    }
    assert_in_range(deadlocks, 10, 150);
}

static void methods_may_share_a_name_in_stacks(void **state)
{
    (void)state;
    struct sim_scenario *s = parsed("scenario a \"b\"\nduration 1s\n"
                                    "method \"f#1\" as f { compute 1ms }\nmethod \"f#2\" as f { compute 2ms }\n"
                                    "method run { call \"f#1\"; call \"f#2\" }\nthread t main run run\n");
    assert_string_equal(s->methods[0].name, "f");
    assert_string_equal(s->methods[1].name, "f");
    assert_string_equal(s->methods[1].key, "f#2");
    assert_string_equal(s->methods[2].key, s->methods[2].name);
    char *text = sim_scenario_print(s);
    struct sim_scenario *again = parsed(text);
    assert_string_equal(again->methods[1].name, "f");
    assert_string_equal(again->methods[1].key, "f#2");
    free(text);
    sim_scenario_free(again);
    sim_scenario_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_may_share_a_name_in_stacks),
        cmocka_unit_test(every_operation_of_the_language_can_be_said),
        cmocka_unit_test(what_is_read_is_what_was_written),
        cmocka_unit_test(operations_say_where_they_stand),
        cmocka_unit_test(blocks_hold_their_own_operations_side_by_side),
        cmocka_unit_test(code_of_methods_does_not_overlap_and_lies_in_its_image),
        cmocka_unit_test(the_page_shows_an_app_that_reads),
        cmocka_unit_test(the_page_describes_every_operation_fault_and_setting),
        cmocka_unit_test(a_scenario_with_everything_prints_as_it_reads),
        cmocka_unit_test(all_scenarios_of_the_house_read_and_print_as_they_read),
        cmocka_unit_test(random_scenarios_print_as_they_read),
        cmocka_unit_test(a_seed_always_makes_the_same_scenario),
        cmocka_unit_test(seeds_make_the_same_scenarios_everywhere),
        cmocka_unit_test(sizes_are_about_the_requested_ones),
        cmocka_unit_test(seeds_differ_in_what_they_use_and_together_use_almost_all),
        cmocka_unit_test(random_scenarios_play_to_their_end),
    };
    return cmocka_run_group_tests_name("scenario", tests, NULL, NULL);
}

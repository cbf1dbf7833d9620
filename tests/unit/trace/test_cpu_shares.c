/* Attribution of a thread's CPU time: periods of its clock go to the frames of ticks, the rest to calls and the kernel.
 * Sessions use the notation of letters.h. The result is a sum for each path of frames (S-6, S-54). */
#include "engine/base/error.h"
#include "tests/unit/support/letters.h"

#include "engine/trace/model/sink_threads.h"
#include "engine/trace/model/sink_window.h"

enum { SUMS_MAX = 64 };

static struct {
    char path[64];
    uint64_t ns;
} sums[SUMS_MAX];
static size_t sum_count;
static uint64_t last_end_ns;
static struct strobe_function_tree *tree;

/* ---- a sink that adds up shares */

static void put_path(char *text, size_t room, uint32_t node)
{
    const struct strobe_function_node *n = strobe_function_tree_node(tree, node);
    if (!node)
        return;
    put_path(text, room, n->parent);
    const char *name = strobe_function_tree_name(tree, n->name)->text;
    unsigned letter;
    size_t used = strlen(text);
    if (sscanf(name, "f%u", &letter) == 1)
        snprintf(text + used, room - used, "%c", (char)letter);
    else
        snprintf(text + used, room - used, "%s", name);
}

static void add_share(struct strobe_sink *sink, const struct strobe_cpu_share *share)
{
    char path[sizeof sums[0].path] = "";
    size_t i = 0;
    (void)sink;
    assert_true(share->begin_ns <= share->end_ns && share->end_ns >= last_end_ns);
    last_end_ns = share->end_ns;
    put_path(path, sizeof path, share->node);
    while (i < sum_count && strcmp(sums[i].path, path) != 0)
        i++;
    if (i == sum_count) {
        assert_true(sum_count < SUMS_MAX);
        snprintf(sums[sum_count++].path, sizeof path, "%s", path);
    }
    sums[i].ns += share->cpu_ns;
}

static uint64_t sum_of(const char *path)
{
    for (size_t i = 0; i < sum_count; i++)
        if (!strcmp(sums[i].path, path))
            return sums[i].ns;
    return 0;
}

static uint64_t sum_of_all(void)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < sum_count; i++)
        ns += sums[i].ns;
    return ns;
}

static void start_sink(struct strobe_sink *sink, const struct strobe_reader *reader, struct strobe_function_tree *of)
{
    (void)sink, (void)reader, (void)of;
}

static void begin_thread(struct strobe_sink *sink, const struct strobe_reader_thread *t)
{
    (void)sink, (void)t;
    last_end_ns = 0;
}

static void begin_slice(struct strobe_sink *sink, const struct strobe_slice *slice)
{
    (void)sink, (void)slice;
}

static void end_slice(struct strobe_sink *sink, const struct strobe_slice *slice, const struct strobe_moment *now)
{
    (void)sink, (void)slice, (void)now;
}

static enum strobe_status finish(struct strobe_sink *sink)
{
    (void)sink;
    return STROBE_OK;
}

/* 's' is a function whose code makes a system call. */
static int in_syscall(void *ctx, uint64_t return_address, struct strobe_symbol *out)
{
    (void)ctx;
    *out = (struct strobe_symbol){.function = "[syscall futex]", .image = "", .file = "", .function_id = 5000};
    return return_address >> 8 == 's';
}

static struct strobe_sink adder = {.start = start_sink,
                                   .thread_begin = begin_thread,
                                   .slice_begin = begin_slice,
                                   .slice_end = end_slice,
                                   .finish = finish,
                                   .cpu = add_share};

/* Ends the session and adds up the shares. `sink` receives them first and passes them on to the adder. */
static void add_up(uint64_t end_ticks, struct strobe_sink *sink)
{
    struct strobe_reader *reader;
    struct strobe_error error = {""};
    strobe_build_end(&build, end_ticks);
    memset(sums, 0, sizeof sums);
    sum_count = 0;
    assert_int_equal(strobe_reader_open(temp_dir_path("session"), &reader, &error), STROBE_OK);
    assert_int_equal(strobe_function_tree_open(&reader->session.stacks, recording_resolver(), &tree), STROBE_OK);
    strobe_function_tree_show_syscalls(tree, in_syscall);
    struct strobe_timeline_options options = {0};
    assert_int_equal(strobe_timeline_build(reader, tree, &options, sink, NULL), STROBE_OK);
    strobe_function_tree_close(tree);
    strobe_reader_close(reader);
}

/* ---- content of the sessions */

static void begin_ticking(void)
{
    struct strobe_config config = strobe_build_config();
    config.async_interval_ns = MS;
    begin_with(&config);
}

static void tick(uint64_t ns, uint64_t cpu_ns, const char *path, unsigned flags)
{
    write_record((struct strobe_record){.ticks = ns,
                                        .cpu_ns = cpu_ns,
                                        .stack = stack(path),
                                        .thread = thread,
                                        .kind = STROBE_KIND_CPU,
                                        .flags = (uint16_t)(STROBE_FLAG_CPU | flags)});
}

static void ticks(uint64_t first_ns, uint64_t first_cpu_ns, uint32_t count, const char *path)
{
    uint64_t span_ns = (count - 1) * MS;
    write_record((struct strobe_record){.ticks = first_ns,
                                        .duration = span_ns,
                                        .cpu_ns = first_cpu_ns + span_ns,
                                        .cpu_span_ns = (uint32_t)span_ns,
                                        .count = count,
                                        .stack = stack(path),
                                        .thread = thread,
                                        .kind = STROBE_KIND_CPU,
                                        .flags = STROBE_FLAG_CPU | STROBE_FLAG_BEGIN_CPU});
}

/* A stop by the sampler. */
static void async_cpu(uint64_t ns, const char *path, uint64_t cpu_ns)
{
    write_record((struct strobe_record){.ticks = ns,
                                        .cpu_ns = cpu_ns,
                                        .stack = stack(path),
                                        .thread = thread,
                                        .kind = STROBE_KIND_ASYNC,
                                        .flags = STROBE_FLAG_CPU});
}

/* A call with its CPU time at both ends. */
static void call_cpu(uint64_t from, uint64_t to, uint64_t begin_cpu_ns, uint64_t end_cpu_ns, const char *path)
{
    write_record((struct strobe_record){.ticks = from,
                                        .duration = to - from,
                                        .stack = stack(path),
                                        .thread = thread,
                                        .cpu_ns = end_cpu_ns,
                                        .cpu_span_ns = (uint32_t)(end_cpu_ns - begin_cpu_ns),
                                        .kind = STROBE_KIND_COND,
                                        .flags = STROBE_FLAG_SCOPE | STROBE_FLAG_CPU | STROBE_FLAG_BEGIN_CPU});
}

/* A short call that stands for an interval of such calls. */
static void short_call(uint64_t at, enum strobe_kind kind, const char *path)
{
    write_record((struct strobe_record){.ticks = at,
                                        .duration = 5 * US,
                                        .stack = stack(path),
                                        .thread = thread,
                                        .kind = (uint8_t)kind,
                                        .flags = STROBE_FLAG_SCOPE | STROBE_FLAG_ASKED});
}

/* ---- tests */

/* The clock leaves out ticks in the kernel: between "ab" and the next tick is 1 ms of user time and 3 in the kernel. */
static void each_tick_has_one_period_however_much_cpu_time_the_kernel_took_between(void **state)
{
    (void)state;
    begin_ticking();
    tick(0, 0, "ac", 0);
    for (uint64_t i = 0; i < 20; i++) {
        tick((5 * i + 4) * MS, (5 * i + 4) * MS, "ab", 0);
        tick((5 * i + 5) * MS, (5 * i + 5) * MS, "ac", 0);
    }
    add_up(100 * MS, &adder);
    assert_int_equal(sum_of("ab"), 20 * MS);
    assert_int_equal(sum_of("ac"), 20 * MS);
    assert_int_equal(sum_of("ab[kernel]") + sum_of("ac[kernel]"), 60 * MS);
    assert_true(sum_of("ab[kernel]") >= 56 * MS);
    assert_int_equal(sum_of_all(), 100 * MS);
}

static void a_clock_whose_period_differs_from_the_interval_leaves_nothing_to_the_kernel(void **state)
{
    (void)state;
    begin_ticking();
    for (uint64_t i = 0; i <= 100; i++)
        tick(i * 1120 * US, i * 1120 * US, i % 2 ? "ab" : "ac", 0);
    add_up(112 * MS, &adder);
    assert_int_equal(sum_of("ab"), 56 * MS);
    assert_int_equal(sum_of("ac"), 56 * MS);
    assert_int_equal(sum_of_all(), 112 * MS);
}

/* Samples of hooks between ticks get none of the CPU time that follows them. */
static void samples_of_hooks_take_no_cpu_time(void **state)
{
    (void)state;
    begin_ticking();
    for (uint64_t i = 0; i <= 10; i++) {
        tick(i * MS, i * MS, "ab", 0);
        sample(i * MS + 10 * US, "ah");
    }
    add_up(10 * MS + 20 * US, &adder);
    assert_int_equal(sum_of("ah"), 0);
    assert_true(sum_of("ab") >= 10 * MS);
}

static void merged_ticks_have_a_period_each(void **state)
{
    (void)state;
    begin_ticking();
    tick(0, 0, "a", 0);
    ticks(1 * MS, 1 * MS, 10, "ab");
    tick(11 * MS, 11 * MS, "ac", 0);
    add_up(11 * MS, &adder);
    assert_int_equal(sum_of("ab"), 10 * MS);
    assert_int_equal(sum_of("ac"), 1 * MS);
}

static void a_tick_that_was_asked_for_has_none(void **state)
{
    (void)state;
    begin_ticking();
    for (uint64_t i = 0; i <= 10; i++) {
        tick(i * MS, i * MS, "ab", 0);
        tick(i * MS + 500 * US, i * MS + 500 * US, "ac", STROBE_FLAG_ASKED | STROBE_FLAG_STOOD);
    }
    add_up(10 * MS + 500 * US, &adder);
    assert_int_equal(sum_of("ac"), 0);
    assert_int_equal(sum_of("ab"), 10 * MS + 500 * US);
}

/* Stops come right after waits more often than the thread runs there. */
static void a_sparse_tick_has_eight_ms_and_stops_between_have_none(void **state)
{
    (void)state;
    begin_ticking();
    tick(0, 0, "ab", STROBE_FLAG_SPARSE);
    for (uint64_t i = 0; i < 10; i++) {
        async_cpu((8 * i + 2) * MS, "at", (8 * i + 2) * MS);
        async_cpu((8 * i + 5) * MS, "at", (8 * i + 5) * MS);
        tick((8 * i + 8) * MS, (8 * i + 8) * MS, i % 2 ? "ab" : "ac", STROBE_FLAG_SPARSE);
    }
    add_up(80 * MS, &adder);
    assert_int_equal(sum_of("ab"), 40 * MS);
    assert_int_equal(sum_of("ac"), 40 * MS);
    assert_int_equal(sum_of_all(), 80 * MS);
}

static void a_sparse_tick_leaves_no_time_unseen_although_no_hook_shows_the_thread(void **state)
{
    (void)state;
    begin_ticking();
    tick(0, 0, "ab", STROBE_FLAG_SPARSE);
    for (uint64_t i = 1; i <= 10; i++)
        tick(9 * i * MS, 9 * i * MS, "ab", STROBE_FLAG_SPARSE);
    add_up(90 * MS, &adder);
    assert_int_equal(sum_of("ab"), 90 * MS);
}

/* Hooks show the thread in between. The clock's ticks in the kernel are left out. */
static void time_in_the_kernel_between_sparse_ticks_is_none_of_user_code(void **state)
{
    (void)state;
    begin_ticking();
    tick(0, 0, "ab", STROBE_FLAG_SPARSE);
    for (uint64_t ms = 2; ms <= 320; ms += 2)
        if (ms % 16)
            sample(ms * MS, "ah");
        else
            tick(ms * MS, ms * MS, "ab", STROBE_FLAG_SPARSE);
    add_up(320 * MS, &adder);
    assert_int_equal(sum_of("ab"), 160 * MS);
    assert_int_equal(sum_of("ab[kernel]"), 160 * MS);
}

/* The mark is set before the clock's period changes. Then the new period begins. */
static void a_tick_right_before_the_first_sparse_period_has_one_interval(void **state)
{
    (void)state;
    begin_ticking();
    for (uint64_t i = 0; i <= 10; i++)
        tick(i * MS, i * MS, "ab", 0);
    tick(11 * MS, 11 * MS, "ac", STROBE_FLAG_SPARSE);
    tick(19 * MS, 19 * MS, "ad", STROBE_FLAG_SPARSE);
    add_up(19 * MS, &adder);
    assert_int_equal(sum_of("ab"), 10 * MS);
    assert_int_equal(sum_of("ac"), 1 * MS);
    assert_int_equal(sum_of("ad"), 8 * MS);
}

/* Half of the last sparse period passes without a tick. */
static void the_first_dense_tick_stands_for_the_sparse_period_that_it_ends(void **state)
{
    (void)state;
    begin_ticking();
    for (uint64_t i = 0; i <= 10; i++)
        tick(8 * i * MS, 8 * i * MS, "ab", STROBE_FLAG_SPARSE);
    tick(85 * MS, 85 * MS, "ac", 0);
    tick(88 * MS, 88 * MS, "ac", 0);
    add_up(88 * MS, &adder);
    assert_int_equal(sum_of("ab"), 80 * MS);
    assert_int_equal(sum_of("ac"), 6 * MS);
    assert_int_equal(sum_of("ac[kernel]"), 2 * MS);
}

static void cpu_time_after_the_last_sparse_tick_is_user_time_up_to_its_period(void **state)
{
    (void)state;
    begin_ticking();
    tick(0, 0, "ab", STROBE_FLAG_SPARSE);
    tick(8 * MS, 8 * MS, "ab", STROBE_FLAG_SPARSE);
    sample_cpu(15 * MS, "ac", 15 * MS);
    add_up(15 * MS, &adder);
    assert_int_equal(sum_of("ab"), 15 * MS);
}

static void a_recorded_call_has_its_own_cpu_time_and_ticks_after_it_a_period(void **state)
{
    (void)state;
    begin_ticking();
    tick(0, 0, "ab", 0);
    call_cpu(100 * US, 5 * MS, 100 * US, 2100 * US, "ac");
    tick(6 * MS, 3 * MS, "ab", 0);
    add_up(6 * MS, &adder);
    assert_int_equal(sum_of("ac[cond wait]"), 2 * MS);
    assert_int_equal(sum_of("ab"), 1 * MS);
}

/* Of 3 ms between ticks, 1 ms is user time. The rest goes to the writes that a record stands for, one interval each. */
static void time_in_the_kernel_goes_to_short_calls_that_a_record_stands_for(void **state)
{
    (void)state;
    begin_ticking();
    tick(0, 0, "ab", 0);
    for (uint64_t i = 0; i < 30; i++) {
        short_call((3 * i + 1) * MS, STROBE_KIND_WRITE, "aw");
        short_call((3 * i + 2) * MS, STROBE_KIND_UNLOCK, "au");
        tick((3 * i + 3) * MS, (3 * i + 3) * MS, "ab", 0);
    }
    add_up(90 * MS, &adder);
    assert_int_equal(sum_of("ab"), 30 * MS);
    assert_in_range(sum_of("aw[write]"), 28 * MS, 30 * MS);
    assert_in_range(sum_of("au[unlock]"), 28 * MS, 32 * MS);
    assert_true(sum_of("ab[kernel]") <= 2 * MS);
}

/* Of 21 ms between ticks, 20 ms are in the kernel. The calls of both kinds add up to 30 ms, and each gets the same
 * part of its time. */
static void short_calls_share_the_time_in_the_kernel_when_there_is_less_of_it(void **state)
{
    (void)state;
    begin_ticking();
    tick(0, 0, "ab", 0);
    for (uint64_t i = 0; i < 10; i++) {
        short_call((2 * i + 1) * MS, STROBE_KIND_WRITE, "aw");
        short_call((2 * i + 1) * MS + 10 * US, STROBE_KIND_WRITE, "aw");
        short_call((2 * i + 1) * MS + 20 * US, STROBE_KIND_UNLOCK, "au");
    }
    tick(21 * MS, 21 * MS, "ab", 0);
    add_up(21 * MS, &adder);
    assert_int_equal(sum_of("ab"), 1 * MS);
    assert_in_range(sum_of("aw[write]"), 13 * MS, 14 * MS);
    assert_in_range(sum_of("au[unlock]"), 6 * MS, 7 * MS);
}

/* A call that did not need the processor gets little of the kernel time after it. */
static void short_calls_wait_for_two_periods_of_time_in_the_kernel_at_most(void **state)
{
    (void)state;
    begin_ticking();
    for (uint64_t i = 0; i <= 100; i++) {
        tick(3 * i * MS, i * MS, "ab", 0);
        short_call((3 * i + 1) * MS, STROBE_KIND_READ, "ar");
    }
    tick(305 * MS, 105 * MS, "ac", 0); /* four periods in the kernel */
    add_up(305 * MS, &adder);
    assert_in_range(sum_of("ar[read]"), 2 * MS, 3500 * US); /* with the CPU time of each call */
    assert_in_range(sum_of("ac[kernel]"), 500 * US, 2 * MS);
}

/* The tick interrupted the return from the system call. */
static void time_in_the_kernel_after_a_tick_in_a_system_call_goes_to_that(void **state)
{
    (void)state;
    begin_ticking();
    tick(0, 0, "as", 0);
    tick(4 * MS, 4 * MS, "as", 0);
    add_up(4 * MS, &adder);
    assert_int_equal(sum_of("as[syscall futex]"), 4 * MS);
}

static void time_in_the_kernel_goes_to_the_system_call_that_the_sampler_saw(void **state)
{
    (void)state;
    begin_ticking();
    tick(0, 0, "ab", 0);
    async(3 * MS, "as");
    tick(8 * MS, 8 * MS, "ab", 0);
    add_up(8 * MS, &adder);
    assert_int_equal(sum_of("as[syscall futex]"), 7 * MS);
    assert_int_equal(sum_of("ab"), 1 * MS);
}

static void cpu_time_that_no_sample_covers_is_unseen(void **state)
{
    (void)state;
    begin_ticking();
    tick(0, 0, "ab", 0);
    tick(1 * MS, 1 * MS, "ab", 0);
    tick(101 * MS, 101 * MS, "ab", 0);
    add_up(101 * MS, &adder);
    assert_int_equal(sum_of("[unseen]"), 99 * MS);
    assert_int_equal(sum_of("ab"), 2 * MS);
}

/* A hooked call's sample at the begin, a stop after 3 ms, and the first tick after 5 ms. The function that made the
 * hooked call does not get the time in between. */
static void until_the_first_tick_cpu_time_goes_to_the_next_stop_or_tick(void **state)
{
    (void)state;
    begin_ticking();
    sample_cpu(0, "ah", 0);
    async_cpu(3 * MS, "ab", 3 * MS);
    tick(5 * MS, 5 * MS, "ac", 0);
    add_up(5 * MS, &adder);
    assert_int_equal(sum_of("ah"), 0);
    assert_int_equal(sum_of("ab"), 3 * MS);
    assert_int_equal(sum_of("ac"), 2 * MS);
}

static void a_call_before_the_first_tick_has_its_own_cpu_time(void **state)
{
    (void)state;
    begin_ticking();
    sample_cpu(0, "ah", 0);
    call_cpu(1 * MS, 3 * MS, 1 * MS, 2 * MS, "ac");
    tick(5 * MS, 4 * MS, "ab", 0);
    add_up(5 * MS, &adder);
    assert_int_equal(sum_of("ac[cond wait]"), 1 * MS);
    assert_int_equal(sum_of("ab"), 3 * MS);
}

/* The sampler samples a thread that waits, and records where. */
static void a_look_at_a_call_under_way_before_the_first_tick_takes_no_cpu_time(void **state)
{
    (void)state;
    begin_ticking();
    sample_cpu(0, "ah", 0);
    call_cpu(1 * MS, 9 * MS, 1 * MS, 1 * MS, "ac");
    async_cpu(5 * MS, "ac", 1 * MS);
    tick(10 * MS, 2 * MS, "ab", 0);
    add_up(10 * MS, &adder);
    assert_int_equal(sum_of("ac"), 0);
    assert_int_equal(sum_of("ab"), 2 * MS);
}

static void short_calls_before_the_first_tick_have_up_to_an_interval_each(void **state)
{
    (void)state;
    begin_ticking();
    sample_cpu(0, "ah", 0);
    short_call(3 * MS, STROBE_KIND_WRITE, "aw");
    tick(4 * MS, 4 * MS, "ab", 0);
    add_up(4 * MS, &adder);
    assert_in_range(sum_of("aw[write]"), 1 * MS, 1 * MS + 5 * US);
    assert_int_equal(sum_of("ab") + sum_of("aw[write]"), 4 * MS);
}

static void without_ticks_slices_have_their_cpu_time(void **state)
{
    (void)state;
    begin();
    sample_cpu(0, "ab", 0);
    sample_cpu(2 * MS, "ac", 1 * MS);
    sample_cpu(4 * MS, "ab", 3 * MS);
    add_up(4 * MS + 1, &adder);
    assert_int_equal(sum_of("ab"), 1 * MS);
    assert_int_equal(sum_of("ac"), 2 * MS);
}

static void a_part_of_the_time_has_the_ticks_in_it_and_the_parts_of_slices(void **state)
{
    struct strobe_window_stats written;
    (void)state;
    begin_ticking();
    for (uint64_t i = 0; i <= 10; i++)
        tick(i * MS, i * MS, "ab", 0);
    add_up(10 * MS, strobe_sink_window(&adder, (struct strobe_window_times){2500 * US, 5500 * US}, &written));
    assert_int_equal(sum_of_all(), 3 * MS);
    begin();
    sample_cpu(0, "ab", 0);
    sample_cpu(4 * MS, "ac", 4 * MS);
    add_up(4 * MS + 1, strobe_sink_window(&adder, (struct strobe_window_times){1 * MS, 2 * MS}, &written));
    assert_int_equal(sum_of_all(), 1 * MS);
}

static void one_thread_has_its_own_cpu_time_alone(void **state)
{
    (void)state;
    begin_ticking();
    for (uint64_t i = 0; i <= 10; i++)
        tick(i * MS, i * MS, "ab", 0);
    thread = strobe_build_thread(&build, 4243, "other");
    for (uint64_t i = 0; i <= 5; i++)
        tick(i * MS, i * MS, "ac", 0);
    add_up(10 * MS, strobe_sink_threads(&adder, "other"));
    assert_int_equal(sum_of("ac"), 5 * MS);
    assert_int_equal(sum_of_all(), 5 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_tick_has_one_period_however_much_cpu_time_the_kernel_took_between),
        cmocka_unit_test(a_clock_whose_period_differs_from_the_interval_leaves_nothing_to_the_kernel),
        cmocka_unit_test(samples_of_hooks_take_no_cpu_time),
        cmocka_unit_test(merged_ticks_have_a_period_each),
        cmocka_unit_test(a_tick_that_was_asked_for_has_none),
        cmocka_unit_test(a_recorded_call_has_its_own_cpu_time_and_ticks_after_it_a_period),
        cmocka_unit_test(a_sparse_tick_has_eight_ms_and_stops_between_have_none),
        cmocka_unit_test(a_sparse_tick_leaves_no_time_unseen_although_no_hook_shows_the_thread),
        cmocka_unit_test(time_in_the_kernel_between_sparse_ticks_is_none_of_user_code),
        cmocka_unit_test(a_tick_right_before_the_first_sparse_period_has_one_interval),
        cmocka_unit_test(the_first_dense_tick_stands_for_the_sparse_period_that_it_ends),
        cmocka_unit_test(cpu_time_after_the_last_sparse_tick_is_user_time_up_to_its_period),
        cmocka_unit_test(time_in_the_kernel_goes_to_short_calls_that_a_record_stands_for),
        cmocka_unit_test(short_calls_share_the_time_in_the_kernel_when_there_is_less_of_it),
        cmocka_unit_test(short_calls_wait_for_two_periods_of_time_in_the_kernel_at_most),
        cmocka_unit_test(time_in_the_kernel_after_a_tick_in_a_system_call_goes_to_that),
        cmocka_unit_test(time_in_the_kernel_goes_to_the_system_call_that_the_sampler_saw),
        cmocka_unit_test(cpu_time_that_no_sample_covers_is_unseen),
        cmocka_unit_test(until_the_first_tick_cpu_time_goes_to_the_next_stop_or_tick),
        cmocka_unit_test(a_call_before_the_first_tick_has_its_own_cpu_time),
        cmocka_unit_test(a_look_at_a_call_under_way_before_the_first_tick_takes_no_cpu_time),
        cmocka_unit_test(short_calls_before_the_first_tick_have_up_to_an_interval_each),
        cmocka_unit_test(without_ticks_slices_have_their_cpu_time),
        cmocka_unit_test(a_part_of_the_time_has_the_ticks_in_it_and_the_parts_of_slices),
        cmocka_unit_test(one_thread_has_its_own_cpu_time_alone),
    };
    return cmocka_run_group_tests_name("shares of CPU time", tests, temp_dir_open, temp_dir_close);
}

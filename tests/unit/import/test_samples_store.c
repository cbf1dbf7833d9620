/* Samples of other tools as sessions: what an importer adds, a reader of sessions finds, and its accounting is
 * consistent. */
#include "engine/store/session.h"
#include "engine/trace/import/samples_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/support/imported.h"
#include "tests/unit/support/temp_dir.h"

#include <fcntl.h>
#include <sys/stat.h>

#define MS UINT64_C(1000000)

static struct strobe_sampled *s;
static struct imported session;

static int open_sampled(void **state)
{
    (void)state;
    return strobe_sampled_open(&s) == STROBE_OK ? 0 : -1;
}

static int close_sampled(void **state)
{
    (void)state;
    strobe_sampled_close(s);
    return 0;
}

static uint64_t function(const char *name)
{
    return strobe_sampled_function(s, 0, name, strlen(name));
}

/* Returns the stack of functions that are letters, outermost first. */
static struct strobe_sampled_stack stack(const char *letters)
{
    uint64_t frames[64];
    size_t count = 0;
    for (; *letters; letters++)
        frames[count++] = strobe_sampled_function(s, 0, letters, 1);
    return strobe_sampled_stack(s, frames, count);
}

static bool point(uint32_t thread, uint64_t time_ns, const char *letters)
{
    return strobe_sampled_point(s, &(struct strobe_sampled_point){.first_ns = time_ns,
                                                                  .last_ns = time_ns,
                                                                  .cpu_ns = STROBE_SAMPLED_CPU_UNKNOWN,
                                                                  .stack = stack(letters),
                                                                  .thread = thread,
                                                                  .count = 1,
                                                                  .kind = STROBE_KIND_ASYNC});
}

static void a_point_keeps_what_was_given(void **state)
{
    (void)state;
    struct strobe_metrics metrics = {.alloc_count = 3, .voluntary_switches = 9, .voluntary_switches_span = 2};
    uint32_t thread = strobe_sampled_thread(s, 12);
    strobe_sampled_process(s, 11, 12, "app");
    strobe_sampled_rename(s, thread, "worker thread", 6);
    struct strobe_sampled_point p = {.first_ns = 5 * MS,
                                     .last_ns = 8 * MS,
                                     .cpu_ns = 77,
                                     .stack = stack("abc"),
                                     .thread = thread,
                                     .count = 4,
                                     .message = 6,
                                     .kind = STROBE_KIND_CPU,
                                     .flags = STROBE_FLAG_GAVE_WAY,
                                     .metrics = &metrics};
    assert_true(strobe_sampled_point(s, &p));
    imported_open(&session, s);
    const struct strobe_reader_thread *t = imported_thread(&session, 12);
    const struct strobe_record *r = &t->items[0].record;
    assert_int_equal(session.reader->session.header->pid, 11);
    assert_true(t->is_main);
    assert_string_equal(t->name, "worker");
    assert_int_equal(r->ticks, 5 * MS);
    assert_int_equal(r->duration, 3 * MS);
    assert_int_equal(r->count, 4);
    assert_int_equal(r->cpu_ns, 77);
    assert_int_equal(r->message, 6);
    assert_int_equal(r->kind, STROBE_KIND_CPU);
    assert_int_equal(r->flags, STROBE_FLAG_GAVE_WAY | STROBE_FLAG_CPU | STROBE_FLAG_METRICS);
    assert_string_equal(imported_stack(&session, r->stack), "a;b;c");
    assert_memory_equal(&session.reader->metrics[0], &metrics, sizeof metrics);
    assert_int_equal(session.reader->session.header->config.metrics,
                     STROBE_METRIC_CPU | STROBE_METRIC_ALLOC | STROBE_METRIC_SWITCHES);
    imported_close(&session);
}

static void a_wait_keeps_its_waker(void **state)
{
    (void)state;
    uint32_t waiter = strobe_sampled_thread(s, 1), waker = strobe_sampled_thread(s, 2);
    struct strobe_sampled_wait w = {.begin_ns = 10 * MS,
                                    .end_ns = 20 * MS,
                                    .begin_cpu_ns = 100,
                                    .end_cpu_ns = 150,
                                    .what = 7,
                                    .stack = stack("ab"),
                                    .thread = waiter,
                                    .kind = STROBE_KIND_MONITOR,
                                    .waker = waker,
                                    .release_ns = 25 * MS,
                                    .woken = stack("cd")};
    assert_true(strobe_sampled_wait(s, &w));
    imported_open(&session, s);
    const struct strobe_reader_thread *t = imported_thread(&session, 1);
    const struct strobe_record *r = &t->items[0].record;
    assert_int_equal(r->kind, STROBE_KIND_MONITOR);
    assert_int_equal(r->cpu_ns, 150);
    assert_int_equal(r->cpu_span_ns, 50);
    assert_int_equal(r->arg, 7);
    assert_int_equal(t->woken_count, 1);
    assert_int_equal(t->woken[0].waker, waker);
    assert_int_equal(t->woken[0].release_ticks, 20 * MS); /* moved into the wait */
    assert_string_equal(imported_stack(&session, t->woken[0].stack), "c;d");
    char *text = imported_folded(&session);
    assert_string_equal(text, "thread 1;a;b;[monitor wait] 10000\nthread 1;a;b 1000\n");
    free(text);
    imported_close(&session);
}

static void functions_of_two_images_with_one_name_are_two(void **state)
{
    (void)state;
    uint32_t one = strobe_sampled_image(s, "/bin/sh", 7), two = strobe_sampled_image(s, "/bin/cat", 8);
    uint64_t frames[] = {strobe_sampled_function(s, one, "main", 4), strobe_sampled_function(s, two, "main", 4),
                         function("main")};
    assert_int_equal(strobe_sampled_image(s, "/bin/sh", 7), one);
    assert_int_equal(strobe_sampled_function(s, one, "main", 4), frames[0]);
    point(strobe_sampled_thread(s, 1), MS, "a");
    strobe_sampled_stack(s, frames, 3);
    imported_open(&session, s);
    static const char *const images[] = {"/bin/sh", "/bin/cat", ""};
    for (int i = 0; i < 3; i++) {
        struct strobe_symbol symbol;
        strobe_symbols_resolve(session.symbols, frames[i], &symbol, 1);
        assert_string_equal(symbol.function, "main");
        assert_string_equal(symbol.image, images[i]);
    }
    imported_close(&session);
}

/* A file of an image's path exists here, and is not asked for names. */
static void the_files_of_images_are_not_read(void **state)
{
    (void)state;
    uint64_t frame =
        strobe_sampled_function(s, strobe_sampled_image(s, "/proc/self/exe", 14), "not in this program", 19);
    strobe_sampled_point(s, &(struct strobe_sampled_point){.cpu_ns = STROBE_SAMPLED_CPU_UNKNOWN,
                                                           .stack = strobe_sampled_stack(s, &frame, 1),
                                                           .thread = strobe_sampled_thread(s, 1),
                                                           .count = 1,
                                                           .kind = STROBE_KIND_ASYNC});
    imported_open(&session, s);
    char *text = imported_folded(&session);
    assert_string_equal(text, "thread 1;not in this program 1000\n");
    free(text);
    imported_close(&session);
}

static void copy_session(const char *path)
{
    char bytes[1 << 12];
    int to = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(to >= 0 && lseek(session.fd, 0, SEEK_SET) == 0);
    for (ssize_t n; (n = read(session.fd, bytes, sizeof bytes)) > 0;)
        assert_int_equal(write(to, bytes, (size_t)n), n);
    close(to);
}

/* Two sessions have an image of one path, with different functions. */
static void sessions_of_a_folder_keep_their_names(void **state)
{
    (void)state;
    struct strobe_convert_options options = {.format = STROBE_FORMAT_FOLDED};
    static const char *const names[] = {"one", "other"};
    for (int i = 0; i < 2; i++) {
        uint64_t frame = strobe_sampled_function(s, strobe_sampled_image(s, "/bin/sh", 7), names[i], strlen(names[i]));
        strobe_sampled_process(s, (uint32_t)i + 1, 1, "");
        strobe_sampled_point(s, &(struct strobe_sampled_point){.cpu_ns = STROBE_SAMPLED_CPU_UNKNOWN,
                                                               .stack = strobe_sampled_stack(s, &frame, 1),
                                                               .thread = strobe_sampled_thread(s, 1),
                                                               .count = 1,
                                                               .kind = STROBE_KIND_ASYNC});
        imported_open(&session, s);
        mkdir(temp_dir_path("set.strobe"), 0700);
        copy_session(temp_dir_path(i ? "set.strobe/1.strobe" : "set.strobe/main.strobe"));
        imported_close(&session);
        strobe_sampled_close(s);
        assert_int_equal(strobe_sampled_open(&s), STROBE_OK);
    }
    struct strobe_error error = {""};
    if (strobe_convert(temp_dir_path("set.strobe"), temp_dir_path("set.folded"), &options, NULL, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    size_t bytes;
    char *text = temp_dir_read("set.folded", &bytes);
    assert_non_null(strstr(text, ";one 1000\n"));
    assert_non_null(strstr(text, ";other 1000\n"));
    free(text);
}

static void deep_stacks_keep_their_innermost_frames(void **state)
{
    (void)state;
    uint64_t frames[STROBE_STACK_DEPTH_MAX + 1];
    char name[16];
    for (int i = 0; i <= STROBE_STACK_DEPTH_MAX; i++) {
        snprintf(name, sizeof name, "f%d", i);
        frames[i] = function(name);
    }
    struct strobe_sampled_stack whole = strobe_sampled_stack(s, frames, STROBE_STACK_DEPTH_MAX),
                                cut = strobe_sampled_stack(s, frames, STROBE_STACK_DEPTH_MAX + 1);
    assert_false(whole.cut);
    assert_true(cut.cut);
    point(strobe_sampled_thread(s, 1), MS, "a");
    imported_open(&session, s);
    assert_memory_equal(imported_stack(&session, cut.id), "f1;f2;", 6);
    imported_close(&session);
}

/* So many stacks and records that the table grows and records go through the temporary file. */
static void many_stacks_and_records_keep_their_order(void **state)
{
    (void)state;
    enum { FUNCTIONS = 60, RECORDS = 5000 };
    uint64_t functions[FUNCTIONS];
    uint32_t thread = strobe_sampled_thread(s, 1);
    char name[16];
    for (int i = 0; i < FUNCTIONS; i++) {
        snprintf(name, sizeof name, "f%d", i);
        functions[i] = function(name);
    }
    for (unsigned i = 0; i < RECORDS; i++) {
        uint64_t frames[] = {functions[i % FUNCTIONS], functions[i / FUNCTIONS % FUNCTIONS], functions[0],
                             functions[i / FUNCTIONS / FUNCTIONS % FUNCTIONS]};
        strobe_sampled_point(s, &(struct strobe_sampled_point){.first_ns = i * MS,
                                                               .last_ns = i * MS,
                                                               .cpu_ns = i,
                                                               .stack = strobe_sampled_stack(s, frames, 4),
                                                               .thread = thread,
                                                               .count = 1,
                                                               .kind = STROBE_KIND_ASYNC});
    }
    assert_int_equal(strobe_sampled_count(s), RECORDS);
    imported_open(&session, s);
    const struct strobe_reader_thread *t = imported_thread(&session, 1);
    assert_int_equal(t->item_count, RECORDS);
    for (unsigned i = 0; i < RECORDS; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "f%u;f%u;f0;f%u", i % FUNCTIONS, i / FUNCTIONS % FUNCTIONS,
                 i / FUNCTIONS / FUNCTIONS % FUNCTIONS);
        assert_int_equal(t->items[i].record.cpu_ns, i);
        if (i % 37 == 0)
            assert_string_equal(imported_stack(&session, t->items[i].record.stack), expected);
    }
    imported_close(&session);
}

static void a_tid_of_an_ended_thread_is_another_thread(void **state)
{
    (void)state;
    uint32_t first = strobe_sampled_thread(s, 5);
    point(first, 1 * MS, "a");
    strobe_sampled_thread_end(s, first, 2 * MS);
    uint32_t second = strobe_sampled_thread(s, 5);
    assert_int_not_equal(first, second);
    assert_int_equal(strobe_sampled_thread(s, 5), second);
    point(second, 9 * MS, "b");
    imported_open(&session, s);
    char *text = imported_folded(&session);
    assert_string_equal(text, "thread 5;a 1000\nthread 5;b 1000\n");
    free(text);
    imported_close(&session);
}

/* 100 points 2 ms apart, and one pause: the pause is longer than four intervals. */
static void the_interval_is_the_usual_time_between_points(void **state)
{
    (void)state;
    uint32_t thread = strobe_sampled_thread(s, 1);
    for (unsigned i = 0; i < 100; i++)
        point(thread, (i < 50 ? 0 : 500 * MS) + i * 2 * MS, "a");
    imported_open(&session, s);
    uint64_t interval_ns = session.reader->session.header->config.interval_other_ns;
    assert_in_range(interval_ns, 2 * MS, 2 * MS + MS / 2);
    char *text = imported_folded(&session);
    assert_non_null(strstr(text, "[unseen]"));
    free(text);
    imported_close(&session);
}

static void records_out_of_range_are_refused(void **state)
{
    (void)state;
    uint32_t thread = strobe_sampled_thread(s, 1);
    assert_false(point(thread, STROBE_SAMPLED_TIME_MAX, "a"));
    assert_false(point(thread + 1, MS, "a"));
    struct strobe_sampled_point p = {
        .first_ns = 2, .last_ns = 1, .thread = thread, .count = 1, .kind = STROBE_KIND_ASYNC};
    assert_false(strobe_sampled_point(s, &p));
    p.first_ns = 0;
    p.count = 0;
    assert_false(strobe_sampled_point(s, &p));
    struct strobe_sampled_wait w = {.begin_ns = 2, .end_ns = 1, .thread = thread, .kind = STROBE_KIND_MONITOR};
    assert_false(strobe_sampled_wait(s, &w));
    assert_int_equal(strobe_sampled_count(s), 0);
    imported_open(&session, s);
    assert_int_equal(session.reader->samples, 0);
    imported_close(&session);
}

static void a_failure_stays_up_to_the_end(void **state)
{
    (void)state;
    int fd;
    setenv("TMPDIR", "/nowhere", 1);
    uint32_t thread = strobe_sampled_thread(s, 1);
    point(thread, MS, "a");
    assert_int_equal(strobe_sampled_make(s, &fd), STROBE_IO);
    for (unsigned i = 0; i < 2000; i++)
        point(thread, i * MS, "a");
    unsetenv("TMPDIR");
    assert_int_equal(strobe_sampled_make(s, &fd), STROBE_IO);
}

static void more_threads_than_a_session_holds_are_refused(void **state)
{
    (void)state;
    int fd;
    for (uint32_t tid = 0; tid < 1 << 16; tid++)
        assert_int_equal(strobe_sampled_thread(s, tid), tid);
    assert_int_equal(strobe_sampled_thread(s, 1 << 16), STROBE_SAMPLED_NO_THREAD);
    assert_int_equal(strobe_sampled_make(s, &fd), STROBE_FULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_point_keeps_what_was_given, open_sampled, close_sampled),
        cmocka_unit_test_setup_teardown(a_wait_keeps_its_waker, open_sampled, close_sampled),
        cmocka_unit_test_setup_teardown(functions_of_two_images_with_one_name_are_two, open_sampled, close_sampled),
        cmocka_unit_test_setup_teardown(the_files_of_images_are_not_read, open_sampled, close_sampled),
        cmocka_unit_test_setup_teardown(sessions_of_a_folder_keep_their_names, open_sampled, close_sampled),
        cmocka_unit_test_setup_teardown(deep_stacks_keep_their_innermost_frames, open_sampled, close_sampled),
        cmocka_unit_test_setup_teardown(many_stacks_and_records_keep_their_order, open_sampled, close_sampled),
        cmocka_unit_test_setup_teardown(a_tid_of_an_ended_thread_is_another_thread, open_sampled, close_sampled),
        cmocka_unit_test_setup_teardown(the_interval_is_the_usual_time_between_points, open_sampled, close_sampled),
        cmocka_unit_test_setup_teardown(records_out_of_range_are_refused, open_sampled, close_sampled),
        cmocka_unit_test_setup_teardown(a_failure_stays_up_to_the_end, open_sampled, close_sampled),
        cmocka_unit_test_setup_teardown(more_threads_than_a_session_holds_are_refused, open_sampled, close_sampled),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}

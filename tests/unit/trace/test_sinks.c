/* The output formats, on one small session: the exact output of each, byte by byte or message by message. */
#include "engine/base/error.h"
#include "engine/trace/export/convert.h"
#include "engine/trace/export/pb.h"
#include "engine/trace/export/sinks.h"
#include "tests/unit/support/recording.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

static const uint64_t MS = 1000000;

/* ---- the session: a for 2 ms, in it b for 1 ms and a read of 1 ms under c */

static int without_metrics;

static void make_session(void)
{
    struct strobe_build build;
    struct strobe_config config = strobe_build_config();
    if (without_metrics)
        config.metrics = 0;
    strobe_build_begin(&build, temp_dir_path("session"), &config);
    uint32_t thread = strobe_build_thread(&build, 70000, "main; \"one\"");
    const uint64_t ab[] = {0x100, 0x200}, ac[] = {0x110, 0x300};
    struct strobe_record r = {.stack = strobe_build_stack(&build, ab, 2), .thread = thread, .flags = STROBE_FLAG_CPU};
    strobe_build_record(&build, r, NULL);
    r = (struct strobe_record){.ticks = 1 * MS,
                               .duration = MS,
                               .stack = strobe_build_stack(&build, ac, 2),
                               .arg = 9,
                               .thread = thread,
                               .kind = STROBE_KIND_READ,
                               .cpu_ns = 1100000,
                               .cpu_span_ns = 100000,
                               .flags = STROBE_FLAG_SCOPE | STROBE_FLAG_CPU | STROBE_FLAG_BEGIN_CPU};
    struct strobe_metrics m = {.alloc_count = 2, .alloc_bytes = 64, .alloc_count_span = 1, .alloc_bytes_span = 24};
    strobe_build_record(&build, r, &m);
    strobe_build_end(&build, 2 * MS);
}

static struct strobe_perfetto_stats wrote;

/* Converts it with functions named as in recording.h. The caller frees the output. */
static char *convert(enum strobe_format format, int deflate, size_t *bytes)
{
    const struct strobe_timeline_options options = {0};
    struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    struct strobe_outfile out;
    make_session();
    assert_int_equal(strobe_reader_open(temp_dir_path("session"), &reader, NULL), STROBE_OK);
    assert_int_equal(strobe_function_tree_open(&reader->session.stacks, recording_resolver(), &tree), STROBE_OK);
    assert_int_equal(strobe_outfile_open(&out, temp_dir_path("out"), 1), STROBE_OK);
    struct strobe_sink *sink = format == STROBE_FORMAT_PERFETTO ? strobe_sink_perfetto(&out, deflate, &wrote)
                               : format == STROBE_FORMAT_CHROME ? strobe_sink_chrome(&out)
                               : format == STROBE_FORMAT_FOLDED ? strobe_sink_folded(&out)
                                                                : strobe_sink_speedscope(&out);
    assert_non_null(sink);
    assert_int_equal(strobe_timeline_build(reader, tree, &options, sink, NULL), STROBE_OK);
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    strobe_function_tree_close(tree);
    strobe_reader_close(reader);
    return temp_dir_read("out", bytes);
}

static void assert_text(enum strobe_format format, const char *wanted)
{
    size_t bytes;
    char *found = convert(format, 0, &bytes);
    assert_string_equal(found, wanted);
    free(found);
}

static void names_that_are_no_functions_have_no_address(void **state)
{
    (void)state;
    struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    make_session();
    assert_int_equal(strobe_reader_open(temp_dir_path("session"), &reader, NULL), STROBE_OK);
    assert_int_equal(strobe_function_tree_open(&reader->session.stacks, recording_resolver(), &tree), STROBE_OK);
    for (uint32_t name = 0; name < STROBE_NAME_FUNCTIONS; name++)
        assert_int_equal(strobe_function_tree_name(tree, name)->address, 0);
    strobe_function_tree_close(tree);
    strobe_reader_close(reader);
}

static void folded_stacks_weigh_the_time_each_was_innermost(void **state)
{
    (void)state;
    assert_text(STROBE_FORMAT_FOLDED, "main: \"one\";f1;f2 1000\nmain: \"one\";f1;f3;[read] 1000\n");
}

/* Weights are rounded to the nearest value. Each thread has its own weights. The time of a function after a call is
 * its self time. */
static void weights_are_rounded_and_each_threads_own(void **state)
{
    (void)state;
    struct strobe_build build;
    struct strobe_config config = strobe_build_config();
    const uint64_t outer[] = {0x100}, inner[] = {0x100, 0x200};
    struct strobe_error error;
    strobe_build_begin(&build, temp_dir_path("session"), &config);
    for (uint32_t t = 0; t < 2; t++) {
        uint32_t thread = strobe_build_thread(&build, t + 1, t ? "two" : "one");
        for (uint64_t i = 0; i < 3; i++)
            strobe_build_record(
                &build,
                (struct strobe_record){.ticks = i * 1000600,
                                       .thread = thread,
                                       .stack = strobe_build_stack(&build, i == 1 ? inner : outer, i == 1 ? 2 : 1)},
                NULL);
    }
    strobe_build_end(&build, 3 * 1000600);
    struct strobe_convert_options options = {.format = STROBE_FORMAT_FOLDED, .replace = 1};
    size_t bytes;
    if (strobe_convert(temp_dir_path("session"), temp_dir_path("out"), &options, NULL, &error))
        fail_msg("%s", error.text);
    char *found = temp_dir_read("out", &bytes);
    assert_string_equal(found, "one;0x100 2001\none;0x100;0x200 1001\ntwo;0x100 2001\ntwo;0x100;0x200 1001\n");
    free(found);
}

/* The head of an expected event of thread 70000, written with ' for ". */
#define EVENT(phase) "{'ph':'" phase "','pid':4242,'tid':70000,'name':"

static void chrome_events_pair_up_by_name(void **state)
{
    (void)state;
    /* clang-format off */
    char wanted[] = "{'displayTimeUnit':'ns','traceEvents':[\n"
                    "{'ph':'M','pid':4242,'tid':4242,'name':'process_name','args':{'name':'/usr/bin/built'}},\n"
                    EVENT("M") "'thread_name','args':{'name':'main; \\'one\\''}},\n"
                    EVENT("B") "'f1','cat':'function','ts':1000000.000,'tts':0.000},\n"
                    EVENT("B") "'f2','cat':'function','ts':1000000.000,'tts':0.000},\n"
                    EVENT("E") "'f2','ts':1001000.000,'tts':1000.000},\n"
                    EVENT("B") "'f3','cat':'function','ts':1001000.000,'tts':1000.000},\n"
                    EVENT("B") "'[read]','cat':'wait','ts':1001000.000,'tts':1000.000},\n"
                    EVENT("E") "'[read]','ts':1002000.000,'tts':1100.000,"
                    "'args':{'arg':9,'alloc bytes':24,'allocs':1}},\n"
                    EVENT("E") "'f3','ts':1002000.000,'tts':1100.000,'args':{'alloc bytes':24,'allocs':1}},\n"
                    EVENT("E") "'f1','ts':1002000.000,'tts':1100.000,'args':{'samples':2,'alloc bytes':24,'allocs':1}}"
                    "\n]}\n";
    /* clang-format on */
    for (char *quote = wanted; (quote = strchr(quote, '\'')); quote++)
        *quote = '"';
    assert_text(STROBE_FORMAT_CHROME, wanted);
}

static void speedscope_profiles_open_and_close_frames(void **state)
{
    (void)state;
    size_t bytes;
    char *found = convert(STROBE_FORMAT_SPEEDSCOPE, 0, &bytes), at[4][80];
    for (unsigned i = 0; i < 3; i++)
        snprintf(at[i], sizeof at[i], "{\"type\":\"O\",\"frame\":%u,\"at\":%u}", STROBE_NAME_FUNCTIONS + i,
                 i == 2 ? 1000000 : 0);
    snprintf(at[3], sizeof at[3], "{\"type\":\"C\",\"frame\":%u,\"at\":1000000}", STROBE_NAME_FUNCTIONS + 1);
    for (unsigned i = 0; i < 4; i++)
        assert_non_null(strstr(found, at[i]));
    assert_non_null(strstr(found, "{\"name\":\"f3\"}]")); /* the last of the frames */
    assert_non_null(strstr(found, "\"startValue\":0,\"endValue\":2000000"));
    assert_non_null(strstr(found, "\"name\":\"main; \\\"one\\\" (70000)\""));
    free(found);
}

/* ---- Perfetto: a separate reader of the wire format */

struct cursor {
    const uint8_t *p, *end;
};

/* Returns the number of the next field, and its bytes, or its value when it is a varint. 0 at the end. */
static unsigned next(struct cursor *c, struct cursor *bytes, uint64_t *value)
{
    uint64_t tag = 0;
    if (c->p == c->end)
        return 0;
    c->p = strobe_varint_get(c->p, c->end, &tag);
    assert_non_null(c->p);
    assert_true((tag & 7) == 0 || (tag & 7) == 2);
    c->p = strobe_varint_get(c->p, c->end, value);
    assert_non_null(c->p);
    if ((tag & 7) == 2) {
        assert_true(*value <= (uint64_t)(c->end - c->p));
        *bytes = (struct cursor){c->p, c->p + *value};
        c->p += *value;
    }
    return (unsigned)(tag >> 3);
}

static bool sequences_begin; /* the next packet is the first of its trace */

struct seen {
    uint64_t packets, begins, ends, instants, values, cpu, samples, names, descriptors, time;
};

static void look_at_event(struct cursor event, struct seen *s)
{
    struct cursor in;
    uint64_t value;
    int first = 1;
    for (unsigned field; (field = next(&event, &in, &value));) {
        if (field == 9) {
            s->begins += value == 1;
            s->ends += value == 2;
            s->instants += value == 3;
        }
        if (field == 12) {
            s->cpu += first ? value : 0;
            first = 0;
            s->values++;
        }
    }
}

/* Returns the number of the packet's sequence, from 1. The first packet's sequence is 1. */
static uint64_t sequence_of(struct cursor packet)
{
    static uint64_t first;
    struct cursor in;
    uint64_t value, id = 0;
    for (unsigned field; (field = next(&packet, &in, &value));)
        id = field == 10 ? value : id;
    if (sequences_begin) {
        first = id;
        sequences_begin = false;
    }
    return id - first + 1;
}

enum { THREADS = 2, EVENTS = 4 }; /* sequences: of threads' descriptors, and of the only thread's events */

static void look_at_packet(struct cursor packet, struct seen *s)
{
    struct cursor in;
    uint64_t value, sequence = sequence_of(packet), time = 0;
    s->packets++;
    for (unsigned field; (field = next(&packet, &in, &value));) {
        time = field == 8 ? value : time;
        s->samples += field == 66;
        s->descriptors += field == 60;
        assert_true(sequence != THREADS || field != 11); /* a reader gives events of this sequence the last thread */
        if (field == 11)
            look_at_event(in, s);
        if (field == 12 && sequence == EVENTS)
            for (unsigned what; (what = next(&in, &(struct cursor){0}, &value));)
                s->names += what == 2;
    }
    assert_true(sequence >= 1 && sequence <= EVENTS);
    if (sequence == EVENTS)
        s->time = time > 500 * MS ? 0 : s->time + time;
}

static struct seen look_at_trace(const char *bytes, size_t count)
{
    struct cursor trace = {(const uint8_t *)bytes, (const uint8_t *)bytes + count}, packet;
    struct seen s = {0};
    uint64_t value;
    sequences_begin = true;
    for (unsigned field; (field = next(&trace, &packet, &value));) {
        assert_int_equal(field, 1);
        look_at_packet(packet, &s);
    }
    return s;
}

static void assert_seen(const struct seen *s)
{
    assert_int_equal(s->packets, wrote.packets);
    assert_int_equal(s->begins, 4);
    assert_int_equal(s->begins, wrote.slices);
    assert_int_equal(s->ends, 4);
    assert_int_equal(s->instants, wrote.instants);
    assert_int_equal(s->values, wrote.counter_values);
    assert_int_equal(s->samples, 2);
    assert_int_equal(s->samples, wrote.samples);
    assert_int_equal(s->names, 4);
    assert_int_equal(s->descriptors, 1 + 1 + 2);
    assert_int_equal(s->time, 2 * MS);
    assert_int_equal(s->cpu, 1100000);
}

static void a_perfetto_trace_holds_what_its_writer_counted(void **state)
{
    (void)state;
    size_t bytes;
    char *trace = convert(STROBE_FORMAT_PERFETTO, 0, &bytes);
    struct seen s = look_at_trace(trace, bytes);
    assert_int_equal(bytes, wrote.raw_bytes);
    assert_seen(&s);
    free(trace);
}

static void what_a_session_does_not_collect_is_on_no_track(void **state)
{
    (void)state;
    size_t bytes;
    without_metrics = 1;
    char *trace = convert(STROBE_FORMAT_PERFETTO, 0, &bytes);
    without_metrics = 0;
    struct seen s = look_at_trace(trace, bytes);
    assert_int_equal(s.begins, 4);
    assert_int_equal(s.values, 0);
    assert_int_equal(s.descriptors, 1 + 1); /* a process and a thread, no counter */
    free(trace);
}

static void a_deflated_trace_holds_the_same_packets(void **state)
{
    (void)state;
    size_t bytes;
    char *trace = convert(STROBE_FORMAT_PERFETTO, 1, &bytes);
    struct cursor whole = {(const uint8_t *)trace, (const uint8_t *)trace + bytes}, packet, packed;
    uint64_t value;
    uLongf room = wrote.raw_bytes;
    char *raw = malloc(room);
    assert_int_equal(next(&whole, &packet, &value), 1);
    assert_int_equal(next(&packet, &packed, &value), 50);
    assert_ptr_equal(whole.p, whole.end);
    assert_int_equal(uncompress((Bytef *)raw, &room, packed.p, (uLong)(packed.end - packed.p)), Z_OK);
    assert_int_equal(room, wrote.raw_bytes);
    struct seen s = look_at_trace(raw, room);
    assert_seen(&s);
    free(raw);
    free(trace);
}

static void a_nested_message_of_any_length_is_closed_right(void **state)
{
    (void)state;
    enum { MOST = 1 << 21 };
    uint8_t *buffer = malloc(MOST + 64);
    const size_t lengths[] = {0, 1, 127, 128, 129, 16383, 16384, 16385, MOST};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint8_t *content = pb_open(buffer, 1), *p = content;
        for (size_t k = 0; k < lengths[i]; k++)
            *p++ = (uint8_t)k;
        struct cursor c = {buffer, pb_close(content, p)}, in;
        uint64_t value;
        assert_int_equal(next(&c, &in, &value), 1);
        assert_ptr_equal(c.p, c.end);
        assert_int_equal(in.end - in.p, lengths[i]);
        for (size_t k = 0; k < lengths[i]; k++)
            assert_int_equal(in.p[k], (uint8_t)k);
    }
    free(buffer);
}

/* Counts the names in the trace of the session `path`. */
static uint64_t names_in_trace_of(const char *path)
{
    struct strobe_error error;
    size_t bytes;
    struct strobe_convert_options options = {.format = STROBE_FORMAT_PERFETTO, .replace = 1};
    if (strobe_convert(path, temp_dir_path("out"), &options, NULL, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    char *trace = temp_dir_read("out", &bytes);
    struct seen s = look_at_trace(trace, bytes);
    free(trace);
    return s.names;
}

static void a_name_is_emitted_once_however_often_it_is_used(void **state)
{
    (void)state;
    struct strobe_build build;
    struct strobe_config config = strobe_build_config();
    strobe_build_begin(&build, temp_dir_path("session"), &config);
    uint32_t thread = strobe_build_thread(&build, 1, "t");
    for (uint64_t i = 0; i < 60; i++) {
        const uint64_t address[] = {0x100, 0x200 + i % 3 * 256};
        struct strobe_record r = {.ticks = i * MS, .stack = strobe_build_stack(&build, address, 2), .thread = thread};
        strobe_build_record(&build, r, NULL);
    }
    strobe_build_end(&build, 60 * MS);
    assert_int_equal(names_in_trace_of(temp_dir_path("session")), 4);
}

/* ---- whole conversions */

static void a_failed_conversion_names_the_file_and_the_fault(void **state)
{
    (void)state;
    struct strobe_convert_options options = {.format = STROBE_FORMAT_FOLDED};
    struct strobe_error error;
    char session[256], wanted[600];
    make_session();
    snprintf(session, sizeof session, "%s", temp_dir_path("session"));
    assert_int_equal(strobe_convert(session, session, &options, NULL, &error), STROBE_BAD_INPUT);
    snprintf(wanted, sizeof wanted, "%s: is the session itself, expected another file", session);
    assert_string_equal(error.text, wanted);
    const char *out = temp_dir_write("there", "kept", 4, 0644);
    assert_int_equal(strobe_convert(session, out, &options, NULL, &error), STROBE_EXISTS);
    snprintf(wanted, sizeof wanted, "%s: exists already", out);
    assert_string_equal(error.text, wanted);
    assert_int_equal(strobe_convert(out, "/dev/null", &options, NULL, &error), STROBE_BAD_INPUT);
    assert_int_equal(strncmp(error.text, out, strlen(out)), 0);
    assert_int_equal(strobe_convert(session, "/dev/full", &options, NULL, &error), STROBE_IO);
    assert_string_equal(error.text, "/dev/full: No space left on device");
    options.replace = 1;
    assert_int_equal(strobe_convert(session, out, &options, NULL, &error), STROBE_OK);
}

static void check_process_name(const char *exe, const char *command, const char *expected)
{
    static struct strobe_session_header header;
    size_t bytes;
    snprintf(header.exe, sizeof header.exe, "%s", exe);
    snprintf(header.command, sizeof header.command, "%s", command);
    const char *name = strobe_sink_process_name(&header, &bytes);
    assert_int_equal(bytes, strlen(expected));
    assert_memory_equal(name, expected, bytes);
}

static void a_process_has_the_name_of_its_program_and_an_app_of_android_that_of_its_package(void **state)
{
    (void)state;
    check_process_name("/usr/bin/sort", "/usr/bin/sort -R", "sort");
    check_process_name("", "sort -R", "program");
    check_process_name("/system/bin/app_process64", "com.example.app", "com.example.app");
    check_process_name("/system/bin/app_process32", "com.example.app:sync  ", "com.example.app:sync");
    check_process_name("/system/bin/app_process", "", "app_process");
    check_process_name("/usr/bin/app", "com.example.app", "app");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_are_no_functions_have_no_address),
        cmocka_unit_test(folded_stacks_weigh_the_time_each_was_innermost),
        cmocka_unit_test(weights_are_rounded_and_each_threads_own),
        cmocka_unit_test(chrome_events_pair_up_by_name),
        cmocka_unit_test(speedscope_profiles_open_and_close_frames),
        cmocka_unit_test(a_perfetto_trace_holds_what_its_writer_counted),
        cmocka_unit_test(what_a_session_does_not_collect_is_on_no_track),
        cmocka_unit_test(a_deflated_trace_holds_the_same_packets),
        cmocka_unit_test(a_name_is_emitted_once_however_often_it_is_used),
        cmocka_unit_test(a_nested_message_of_any_length_is_closed_right),
        cmocka_unit_test(a_failed_conversion_names_the_file_and_the_fault),
        cmocka_unit_test(a_process_has_the_name_of_its_program_and_an_app_of_android_that_of_its_package),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}

/* Output of sinks, read back: the importer reads from a Perfetto trace each event that the sink received, both ends of
 * an arrow have one id, and names with any bytes survive. The session has two threads that wait for each other, all
 * counters, and merged and cut samples. */
#include "engine/base/error.h"
#include "engine/trace/build/timeline.h"
#include "engine/trace/export/convert.h"
#include "engine/trace/export/packets.h"
#include "engine/trace/export/sink_perfetto.h"
#include "engine/trace/export/sinks.h"
#include "engine/trace/import/perfetto/import_perfetto.h"
#include "engine/trace/import/perfetto/proto_read.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MAIN_TID = 70000, WORKER_TID = 200000, LOCK = 0x7f0010, COUNTERS = 3 };
static const uint64_t US = 1000, MS = 1000000;

/* ---- the session */

static size_t resolve(void *ctx, uint64_t address, struct strobe_symbol *out, size_t max)
{
    static char name[64][32];
    uint32_t id = (uint32_t)(address >> 8) & 63;
    (void)ctx, (void)max;
    snprintf(name[id], sizeof name[id], id == 3 ? "append(\"\\%u\")" : "f%u", id);
    out[0] = (struct strobe_symbol){.function = name[id], .image = "", .file = "", .function_id = id};
    return 1;
}

static void point(struct strobe_build *b, uint32_t thread, uint64_t ticks, uint32_t stack, uint64_t cpu_ns,
                  unsigned flags)
{
    strobe_build_record(b,
                        (struct strobe_record){.ticks = ticks,
                                               .stack = stack,
                                               .thread = thread,
                                               .cpu_ns = cpu_ns,
                                               .flags = (uint16_t)(STROBE_FLAG_CPU | flags)},
                        NULL);
}

/* Writes a wait with counters and with its waker, or without a waker. */
static void wait_for(struct strobe_build *b, uint32_t thread, uint64_t from, uint64_t to, uint32_t stack,
                     uint64_t release, uint32_t waker)
{
    const struct strobe_metrics m = {.alloc_count = 20,
                                     .alloc_bytes = 5000,
                                     .minor_faults = 7,
                                     .major_faults = 2,
                                     .voluntary_switches = 110,
                                     .involuntary_switches = 5,
                                     .alloc_bytes_span = 100,
                                     .alloc_count_span = 2,
                                     .minor_faults_span = 3,
                                     .voluntary_switches_span = 10};
    strobe_build_record(b,
                        (struct strobe_record){.ticks = from,
                                               .duration = to - from,
                                               .stack = stack,
                                               .arg = LOCK,
                                               .thread = thread,
                                               .kind = STROBE_KIND_COND,
                                               .cpu_ns = from / 2 + 10 * US,
                                               .cpu_span_ns = 10000,
                                               .flags = STROBE_FLAG_SCOPE | STROBE_FLAG_CPU | STROBE_FLAG_BEGIN_CPU},
                        &m);
    strobe_build_record(b,
                        (struct strobe_record){.ticks = release,
                                               .duration = to - release,
                                               .arg = LOCK,
                                               .thread = thread,
                                               .kind = STROBE_KIND_WAKE,
                                               .cpu_span_ns = waker},
                        NULL);
}

static void make_session(void)
{
    struct strobe_build b;
    struct strobe_config config = strobe_build_config();
    const uint64_t one[] = {0x100, 0x200}, other[] = {0x100, 0x300}, alone[] = {0x400};
    config.metrics = STROBE_METRIC_CPU | STROBE_METRIC_ALLOC | STROBE_METRIC_FAULTS | STROBE_METRIC_SWITCHES;
    strobe_build_begin(&b, temp_dir_path("session"), &config);
    uint32_t first = strobe_build_thread(&b, MAIN_TID, "main"), second = strobe_build_thread(&b, WORKER_TID, "worker");
    uint32_t a = strobe_build_stack(&b, one, 2), c = strobe_build_stack(&b, other, 2);
    uint32_t d = strobe_build_stack(&b, alone, 1);
    point(&b, first, 0, a, 0, 0);
    strobe_build_record(
        &b, (struct strobe_record){.ticks = 1 * MS, .duration = 2 * MS, .count = 2, .stack = c, .thread = first}, NULL);
    point(&b, first, 2 * MS, a, 1 * MS, 0); /* between two merged ones */
    wait_for(&b, first, 4 * MS, 9 * MS, c, 6 * MS, second + 1);
    point(&b, first, 10 * MS, a, 3 * MS, STROBE_FLAG_CUT);
    point(&b, first, 11 * MS, a, 3 * MS, 0);
    for (uint64_t i = 0; i < 12; i++)
        point(&b, second, i * MS, i % 3 ? c : d, i * MS / 3, 0);
    wait_for(&b, second, 12 * MS, 14 * MS, c, 14 * MS, 0);
    strobe_build_end(&b, 15 * MS);
}

/* ---- emitted and imported events */

static struct story {
    char text[1 << 16];
    size_t length;
    uint32_t tid[8]; /* by number of the import */
    uint64_t counter[8][COUNTERS];
    uint64_t flow[2][64]; /* ids, as emitted: at the waker, at the waiter */
    size_t flows[2];
} expected, found;

static void append(struct story *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    s->length += (size_t)vsnprintf(s->text + s->length, sizeof s->text - s->length, format, args);
    va_end(args);
    assert_true(s->length < sizeof s->text);
}

static void append_event(struct story *s, uint32_t tid, const char *phase, uint64_t time_ns, const char *name,
                         const char *category, uint64_t cpu_ns, const uint64_t *counter)
{
    append(s,
           "%u %s %" PRIu64 " '%s' %s cpu %" PRIu64 ", %" PRIu64 " bytes, %" PRIu64 " faults, %" PRIu64 " switches\n",
           tid, phase, time_ns, name, category, cpu_ns, counter[0], counter[1], counter[2]);
}

static void append_instant(struct story *s, uint32_t tid, uint64_t time_ns, const char *name)
{
    append(s, "%u instant %" PRIu64 " '%s'\n", tid, time_ns, name);
}

static void append_note(struct story *s, const char *key, uint64_t value)
{
    append(s, "    %s = %" PRIu64 "\n", key, value);
}

/* ---- a sink that stores its events */

static struct {
    struct strobe_sink sink;
    const struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    uint32_t tid;
} keeper;

static void sums_of(const struct strobe_moment *m, uint64_t *sum)
{
    const uint64_t *c = m->counter;
    sum[0] = c[STROBE_COUNTER_ALLOC_BYTES];
    sum[1] = c[STROBE_COUNTER_MINOR_FAULTS] + c[STROBE_COUNTER_MAJOR_FAULTS];
    sum[2] = c[STROBE_COUNTER_SWITCHES] + c[STROBE_COUNTER_PREEMPTIONS];
}

static void keep_start(struct strobe_sink *sink, const struct strobe_reader *reader, struct strobe_function_tree *tree)
{
    (void)sink;
    keeper.reader = reader;
    keeper.tree = tree;
}

static void keep_thread(struct strobe_sink *sink, const struct strobe_reader_thread *t)
{
    (void)sink;
    keeper.tid = t->tid;
    append(&expected, "thread %u '%s'\n", t->tid, t->name);
}

static void keep_begin(struct strobe_sink *sink, const struct strobe_slice *s)
{
    static const char *const class[] = {"function", "wait", "gap", "placeholder", "off_cpu"};
    uint64_t sum[COUNTERS];
    (void)sink;
    sums_of(&s->begin, sum);
    append_event(&expected, keeper.tid, "begin", s->begin.time_ns,
                 strobe_function_tree_name(keeper.tree, s->name)->text, class[s->class], s -> begin.cpu_ns, sum);
}

static void keep_end(struct strobe_sink *sink, const struct strobe_slice *s, const struct strobe_moment *now)
{
    static const char *const grown[] = {"alloc bytes",  "allocs",   "minor faults",
                                        "major faults", "switches", "preemptions"};
    uint64_t sum[COUNTERS];
    (void)sink;
    sums_of(now, sum);
    append_event(&expected, keeper.tid, "end", now->time_ns, "", "", now->cpu_ns, sum);
    if (s->samples > 1)
        append_note(&expected, "samples", s->samples);
    if (s->arg)
        append_note(&expected, "arg", s->arg);
    for (unsigned i = 0; i < STROBE_COUNTER_COUNT; i++)
        if (now->counter[i] > s->begin.counter[i])
            append_note(&expected, grown[i], now->counter[i] - s->begin.counter[i]);
}

static void keep_wake(struct strobe_sink *sink, const struct strobe_wake_flow *f)
{
    (void)sink;
    bool unknown = f->waker == STROBE_NO_THREAD;
    append_instant(&expected, keeper.tid, f->time_ns, unknown ? "no waker" : f->at_waker ? "wakes" : "woken");
    if (unknown)
        return;
    append_note(&expected, "thread", keeper.reader->threads[f->at_waker ? f->waiter : f->waker].tid);
    expected.flow[!f->at_waker][expected.flows[!f->at_waker]++] = f->id;
}

static void keep_samples(struct strobe_sink *sink, const struct strobe_samples *s)
{
    (void)sink;
    for (uint64_t i = 0; i < s->count; i++)
        append(&expected, "%u sample %" PRIu64 "\n", keeper.tid,
               s->count > 1 ? s->first_ns + (s->last_ns - s->first_ns) * i / (s->count - 1) : s->first_ns);
}

static enum strobe_status keep_finish(struct strobe_sink *sink)
{
    (void)sink;
    return STROBE_OK;
}

/* ---- the trace, as the importer reports it */

static void read_thread(void *ctx, uint32_t thread, uint32_t pid, uint32_t tid, const char *name)
{
    (void)ctx;
    assert_in_range(thread, 0, 7);
    assert_int_equal(pid, 4242);
    found.tid[thread] = tid;
    append(&found, "thread %u '%s'\n", tid, name);
}

static void read_counter(void *ctx, const struct strobe_import_event *e)
{
    static const char *const name[COUNTERS] = {"allocated bytes", "page faults", "context switches"};
    (void)ctx;
    for (unsigned i = 0; i < COUNTERS; i++)
        if (!strcmp(e->name, name[i]))
            found.counter[e->thread][i] = (uint64_t)e->value;
}

static void read_begin(void *ctx, const struct strobe_import_event *e)
{
    (void)ctx;
    assert_true(e->has_cpu);
    append_event(&found, found.tid[e->thread], "begin", e->time_ns, e->name, e->category, e->cpu_ns,
                 found.counter[e->thread]);
}

static void read_end(void *ctx, const struct strobe_import_event *e)
{
    (void)ctx;
    assert_true(e->has_cpu);
    append_event(&found, found.tid[e->thread], "end", e->time_ns, "", "", e->cpu_ns, found.counter[e->thread]);
}

static void read_instant(void *ctx, const struct strobe_import_event *e)
{
    (void)ctx;
    if (e->thread != STROBE_IMPORT_NO_THREAD) /* other tests check the instants without a thread */
        append_instant(&found, found.tid[e->thread], e->time_ns, e->name);
}

static void read_note(void *ctx, const struct strobe_import_event *e, const char *key, uint64_t value)
{
    (void)ctx;
    if (e->thread != STROBE_IMPORT_NO_THREAD)
        append_note(&found, key, value);
}

static void read_sample(void *ctx, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
    (void)ctx;
    assert_int_equal(pid, 4242);
    append(&found, "%u sample %" PRIu64 "\n", tid, time_ns);
}

/* ---- both */

static void build(struct strobe_sink *sink, const char *session,
                  size_t (*resolves)(void *ctx, uint64_t address, struct strobe_symbol *out, size_t max))
{
    const struct strobe_timeline_options options = {0};
    const struct strobe_resolver resolver = {.resolve = resolves, .ctx = NULL};
    struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    assert_non_null(sink);
    assert_int_equal(strobe_reader_open(temp_dir_path(session), &reader, NULL), STROBE_OK);
    assert_int_equal(strobe_function_tree_open(&reader->session.stacks, resolver, &tree), STROBE_OK);
    assert_int_equal(strobe_timeline_build(reader, tree, &options, sink, NULL), STROBE_OK);
    strobe_function_tree_close(tree);
    strobe_reader_close(reader);
}

static int keep_session(void **state)
{
    (void)state;
    make_session();
    memset(&expected, 0, sizeof expected);
    memset(&found, 0, sizeof found);
    keeper.sink = (struct strobe_sink){.start = keep_start,
                                       .thread_begin = keep_thread,
                                       .slice_begin = keep_begin,
                                       .slice_end = keep_end,
                                       .wake = keep_wake,
                                       .samples = keep_samples,
                                       .finish = keep_finish};
    build(&keeper.sink, "session", resolve);
    return 0;
}

static char *written(enum strobe_format format, size_t *bytes)
{
    struct strobe_perfetto_stats stats;
    struct strobe_outfile out;
    assert_int_equal(strobe_outfile_open(&out, temp_dir_path("out"), 1), STROBE_OK);
    build(format == STROBE_FORMAT_PERFETTO ? strobe_sink_perfetto(&out, 0, &stats) : strobe_sink_chrome(&out),
          "session", resolve);
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    return temp_dir_read("out", bytes);
}

static void a_perfetto_trace_reads_back_as_what_its_sink_received(void **state)
{
    (void)state;
    const struct strobe_import_visitor visitor = {.thread = read_thread,
                                                  .slice_begin = read_begin,
                                                  .slice_end = read_end,
                                                  .instant = read_instant,
                                                  .counter = read_counter,
                                                  .note = read_note,
                                                  .sample = read_sample};
    struct strobe_import_stats stats;
    struct strobe_error error;
    size_t bytes;
    char *trace = written(STROBE_FORMAT_PERFETTO, &bytes);
    assert_int_equal(strobe_import_perfetto_bytes(trace, bytes, &visitor, NULL, &stats, &error), STROBE_OK);
    assert_true(expected.length > 4000);
    assert_string_equal(found.text, expected.text);
    assert_int_equal(stats.unknown_tracks + stats.unknown_names + stats.unstated, 0);
    free(trace);
}

/* Returns the next sub-message of that number, over all packets. */
static bool next_message(struct strobe_proto *trace, struct strobe_proto *packet, uint32_t number,
                         struct strobe_proto *out)
{
    struct strobe_proto_field f;
    for (;;) {
        while (strobe_proto_next(packet, &f) == STROBE_PROTO_FIELD)
            if (f.number == number) {
                *out = f.bytes;
                return true;
            }
        if (strobe_proto_next(trace, &f) != STROBE_PROTO_FIELD)
            return false;
        *packet = f.bytes;
    }
}

static void a_flow_has_one_source_and_one_destination_S71(void **state)
{
    (void)state;
    size_t bytes;
    char *text = written(STROBE_FORMAT_PERFETTO, &bytes);
    struct strobe_proto trace = {(uint8_t *)text, (uint8_t *)text + bytes}, packet = {NULL, NULL}, event;
    struct strobe_proto_field f;
    while (next_message(&trace, &packet, PACKET_TRACK_EVENT, &event))
        while (strobe_proto_next(&event, &f) == STROBE_PROTO_FIELD)
            if (f.number == EVENT_FLOW || f.number == EVENT_FLOW_END)
                found.flow[f.number == EVENT_FLOW_END][found.flows[f.number == EVENT_FLOW_END]++] = f.value;
    assert_int_equal(expected.flows[0], 1);
    assert_int_equal(expected.flows[1], 1);
    assert_int_equal(expected.flow[0][0], expected.flow[1][0]);
    assert_memory_equal(found.flows, expected.flows, sizeof found.flows);
    assert_int_not_equal(found.flow[0][0], 0);
    assert_int_not_equal(found.flow[0][0] >> 32, (uint32_t)found.flow[0][0]); /* a hash of 64 bits */
    assert_int_equal(found.flow[0][0], found.flow[1][0]);
    free(text);
}

/* A packet stores its time as the difference from the one before: an earlier time needs a new clock snapshot. */
static void no_incremental_clock_goes_back(void **state)
{
    (void)state;
    size_t bytes, incremental = 0;
    char *text = written(STROBE_FORMAT_PERFETTO, &bytes);
    struct strobe_proto trace = {(uint8_t *)text, (uint8_t *)text + bytes};
    struct strobe_proto_field f, g;
    while (strobe_proto_next(&trace, &f) == STROBE_PROTO_FIELD) {
        uint64_t later = 0, clock = CLOCK_DELTA;
        while (strobe_proto_next(&f.bytes, &g) == STROBE_PROTO_FIELD)
            *(g.number == PACKET_TIMESTAMP ? &later : g.number == PACKET_CLOCK_ID ? &clock : &g.value) = g.value;
        if (clock == CLOCK_DELTA) {
            assert_in_range(later, 0, 15 * MS); /* at most the length of the session */
            incremental += later > 0;
        }
    }
    assert_true(incremental > 20);
    free(text);
}

/* The stacks of main's last two samples differ, because one of them is cut. */
static void a_cut_stack_is_another_than_the_whole_one_S3(void **state)
{
    (void)state;
    size_t bytes;
    char *text = written(STROBE_FORMAT_PERFETTO, &bytes);
    struct strobe_proto trace = {(uint8_t *)text, (uint8_t *)text + bytes}, packet = {NULL, NULL}, sample;
    struct strobe_proto_field f;
    uint64_t stack[2] = {0, 0};
    while (next_message(&trace, &packet, PACKET_PERF_SAMPLE, &sample)) {
        uint64_t tid = 0, iid = 0;
        while (strobe_proto_next(&sample, &f) == STROBE_PROTO_FIELD)
            *(f.number == 3 ? &tid : f.number == 4 ? &iid : &f.value) = f.value;
        if (tid == MAIN_TID) {
            stack[0] = stack[1];
            stack[1] = iid;
        }
    }
    assert_true(stack[0] && stack[1]);
    assert_int_not_equal(stack[0], stack[1]);
    free(text);
}

/* Every function has the greatest number of inlined functions that a resolver may report. */
static size_t resolve_inlined(void *ctx, uint64_t address, struct strobe_symbol *out, size_t max)
{
    (void)ctx;
    for (size_t i = 0; i < max; i++)
        out[i] = (struct strobe_symbol){.function = "f", .image = "", .file = "", .function_id = address << 8 | i};
    return max;
}

static void a_stack_of_as_many_inlined_functions_as_there_may_be_is_whole(void **state)
{
    (void)state;
    struct strobe_build b;
    struct strobe_config config = strobe_build_config();
    struct strobe_perfetto_stats stats;
    struct strobe_outfile out;
    uint64_t address[STROBE_STACK_DEPTH_MAX];
    for (uint32_t i = 0; i < STROBE_STACK_DEPTH_MAX; i++)
        address[i] = i + 1;
    strobe_build_begin(&b, temp_dir_path("deep"), &config);
    uint32_t thread = strobe_build_thread(&b, MAIN_TID, "main");
    point(&b, thread, 0, strobe_build_stack(&b, address, STROBE_STACK_DEPTH_MAX), 0, 0);
    strobe_build_end(&b, 1 * MS);
    assert_int_equal(strobe_outfile_open(&out, temp_dir_path("out"), 1), STROBE_OK);
    build(strobe_sink_perfetto(&out, 0, &stats), "deep", resolve_inlined);
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    size_t bytes, frames = 0;
    char *text = temp_dir_read("out", &bytes);
    struct strobe_proto trace = {(uint8_t *)text, (uint8_t *)text + bytes}, packet = {NULL, NULL}, data;
    struct strobe_proto_field f, g;
    while (next_message(&trace, &packet, PACKET_INTERNED, &data))
        while (strobe_proto_next(&data, &f) == STROBE_PROTO_FIELD)
            while (f.number == INTERNED_STACK && strobe_proto_next(&f.bytes, &g) == STROBE_PROTO_FIELD)
                frames += g.number == 2;
    assert_int_equal(frames, STROBE_SYMBOLS_FRAMES_MAX * STROBE_STACK_DEPTH_MAX);
    free(text);
}

static void chrome_arrows_begin_at_the_release_and_end_in_the_wait_S71(void **state)
{
    (void)state;
    size_t bytes;
    char *json = written(STROBE_FORMAT_CHROME, &bytes);
    assert_non_null(strstr(json, "{\"ph\":\"s\",\"pid\":4242,\"tid\":200000,\"name\":\"wake\",\"cat\":\"wake\","
                                 "\"id\":1,\"ts\":1006000.000}"));
    assert_non_null(strstr(json, "{\"ph\":\"f\",\"pid\":4242,\"tid\":70000,\"name\":\"wake\",\"cat\":\"wake\","
                                 "\"id\":1,\"bp\":\"e\",\"ts\":1009000.000}"));
    free(json);
}

static void chrome_names_are_quoted(void **state)
{
    (void)state;
    size_t bytes;
    char *json = written(STROBE_FORMAT_CHROME, &bytes);
    uint32_t quoted = 0, all = 0;
    for (const char *at = json; (at = strstr(at, "append(")); at++) {
        all++;
        quoted += !strncmp(at, "append(\\\"\\\\3\\\")\"", 13);
    }
    assert_true(all > 2);
    assert_int_equal(quoted, all);
    free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_perfetto_trace_reads_back_as_what_its_sink_received, keep_session),
        cmocka_unit_test_setup(a_flow_has_one_source_and_one_destination_S71, keep_session),
        cmocka_unit_test_setup(no_incremental_clock_goes_back, keep_session),
        cmocka_unit_test_setup(a_cut_stack_is_another_than_the_whole_one_S3, keep_session),
        cmocka_unit_test(a_stack_of_as_many_inlined_functions_as_there_may_be_is_whole),
        cmocka_unit_test_setup(chrome_arrows_begin_at_the_release_and_end_in_the_wait_S71, keep_session),
        cmocka_unit_test_setup(chrome_names_are_quoted, keep_session),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}

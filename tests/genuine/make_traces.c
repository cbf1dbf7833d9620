/* Makes sessions that show every feature of the Perfetto sink, converts each, and prints what the writer says it wrote:
 * an array of JSON objects, for check_trace.mjs.
 *
 *   make_traces DIR [NAME...]      also converts the recorded sessions DIR/NAME.strobe */
#include "engine/base/error.h"
#include "engine/trace/export/convert.h"
#include "tests/unit/support/session_builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MS = 1000000, US = 1000, CALLERS = 40 };

static struct strobe_build build;

static uint32_t stack(uint64_t seed, uint32_t depth)
{
    uint64_t address[STROBE_STACK_DEPTH_MAX];
    for (uint32_t i = 0; i < depth; i++)
        address[i] = 0x400000 + (i * 4096 + (i + 3 < depth ? 0 : seed % 5 * 512) + 16) % 0x100000;
    return strobe_build_stack(&build, address, depth);
}

static void sample(uint32_t thread, uint64_t ticks, uint32_t stack_id, uint64_t cpu_ns)
{
    struct strobe_record r = {
        .ticks = ticks, .cpu_ns = cpu_ns, .stack = stack_id, .thread = thread, .flags = STROBE_FLAG_CPU};
    strobe_build_record(&build, r, NULL);
}

static void wait_for(uint32_t thread, uint64_t begin, uint64_t end, uint32_t stack_id, unsigned kind)
{
    struct strobe_record r = {.ticks = begin,
                              .duration = end - begin,
                              .cpu_ns = begin / 2,
                              .arg = 0x7f00c0de,
                              .stack = stack_id,
                              .thread = thread,
                              .kind = (uint8_t)kind,
                              .flags = STROBE_FLAG_CPU | STROBE_FLAG_BEGIN_CPU | STROBE_FLAG_SCOPE};
    struct strobe_metrics m = {.alloc_count = begin / MS,
                               .alloc_bytes = begin / 10,
                               .minor_faults = 7,
                               .voluntary_switches = (uint32_t)(begin / MS) + 1,
                               .voluntary_switches_span = 1};
    strobe_build_record(&build, r, &m);
}

static void begin(const char *path, struct strobe_config config)
{
    strobe_build_begin(&build, path, &config);
    strobe_build_image(&build, "/usr/lib/libbuilt.so.1", 0x400000, 0x500000);
}

/* Deep stacks that change at their leaves, two threads, waits, a gap. */
static void ordinary(const char *path)
{
    begin(path, strobe_build_config());
    uint32_t first = strobe_build_thread(&build, 4242, "main"), second = strobe_build_thread(&build, 70000, "worker");
    for (uint32_t i = 0; i < 200; i++) {
        sample(first, i * MS, stack(i / 3, CALLERS), i * MS / 2);
        sample(second, i * MS + 300, stack(i / 7, 12 + i % 5), i * MS / 4);
        if (i % 20 == 10)
            wait_for(first, i * MS + 100 * US, i * MS + 900 * US, stack(i, CALLERS - 2), STROBE_KIND_MUTEX);
    }
    sample(second, 300 * MS, stack(1, 8), 60 * MS);
    strobe_build_end(&build, 310 * MS);
}

/* Merged records, samples of the sampler between them, messages, nested calls, cut stacks, equal times. */
static void odd(const char *path)
{
    begin(path, strobe_build_config());
    uint32_t t = strobe_build_thread(&build, 4242, "odd \"one\" \xff"), s = stack(1, 20);
    struct strobe_record merged = {.ticks = 1 * MS, .duration = 8 * MS, .stack = s, .thread = t, .count = 9};
    strobe_build_record(&build, merged, NULL);
    for (uint32_t i = 0; i < 4; i++) {
        struct strobe_record r = {.ticks = (2 + 2 * i) * MS + 1,
                                  .stack = stack(i, 21),
                                  .thread = t,
                                  .kind = STROBE_KIND_ASYNC,
                                  .flags = i == 2 ? STROBE_FLAG_CUT : 0};
        strobe_build_record(&build, r, NULL);
    }
    wait_for(t, 11 * MS, 19 * MS, stack(1, 10), STROBE_KIND_LOAD);
    wait_for(t, 12 * MS, 13 * MS, stack(1, 14), STROBE_KIND_READ);
    for (uint32_t i = 0; i < 6; i++) {
        struct strobe_record r = {.ticks = 20 * MS + i / 2 * MS,
                                  .stack = i % 2 ? s : 0,
                                  .thread = t,
                                  .message = i / 4,
                                  .flags = i == 5   ? STROBE_FLAG_DOUBTFUL
                                           : i == 4 ? STROBE_FLAG_TABLE_FULL
                                                    : 0};
        strobe_build_record(&build, r, NULL);
    }
    strobe_build_end(&build, 24 * MS);
}

/* A flight recorder that has overwritten most of its records; killed inside a call. */
static void lossy(const char *path)
{
    struct strobe_config config = strobe_build_config();
    config.ring_slots = 256;
    config.metrics = STROBE_METRIC_CPU | STROBE_METRIC_ALLOC | STROBE_METRIC_FAULTS | STROBE_METRIC_SWITCHES;
    begin(path, config);
    uint32_t t = strobe_build_thread(&build, 4242, "main"), quiet = strobe_build_thread(&build, 4243, "quiet");
    for (uint32_t i = 0; i < 1000; i++)
        sample(t, i * MS, stack(i, 30), i * MS);
    wait_for(t, 1000 * MS, 1001 * MS, stack(0, 29), STROBE_KIND_SYNC);
    strobe_store_relaxed(&build.session.threads[quiet].scope_begin_ticks, STROBE_BUILD_BEGIN_NS + 5 * MS);
    strobe_store_relaxed(&build.session.threads[quiet].scope_kind, STROBE_KIND_COND);
    strobe_build_kill(&build);
}

/* Values of the process over time, and a run loop with two hitches. */
static void process(const char *path)
{
    begin(path, strobe_build_config());
    uint32_t t = strobe_build_thread(&build, 4242, "main");
    for (uint32_t i = 0; i < 1000; i++) {
        sample(t, i * MS, stack(i / 9, 20), i * MS);
        for (uint32_t what = 0; what < STROBE_SERIES_COUNT && i % 100 == 0; what++) {
            struct strobe_record r = {.ticks = i * MS,
                                      .arg = (uint64_t)i << (what == 1 ? 30 : 0),
                                      .cpu_span_ns = what,
                                      .thread = t,
                                      .kind = STROBE_KIND_COUNTER};
            strobe_build_record(&build, r, NULL);
        }
    }
    struct strobe_record late = {.ticks = 200 * MS, .duration = 40 * MS, .thread = t, .kind = STROBE_KIND_HITCH};
    strobe_build_record(&build, late, NULL);
    late = (struct strobe_record){
        .ticks = 400 * MS, .duration = 300 * MS, .thread = t, .kind = STROBE_KIND_HITCH, .arg = STROBE_HITCH_HANG};
    strobe_build_record(&build, late, NULL);
    strobe_build_end(&build, 1000 * MS);
}

/* An empty recording. */
static void empty(const char *path)
{
    begin(path, strobe_build_config());
    strobe_build_thread(&build, 4242, "main");
    strobe_build_end(&build, 1 * MS);
}

static uint32_t pid_of(const char *session)
{
    struct strobe_session s;
    if (strobe_session_open(session, &s) != STROBE_OK)
        return 0;
    uint32_t pid = s.header->pid;
    strobe_session_unmap(&s);
    return pid;
}

/* Converts a session to DIR/NAME + ending, and prints the statistics. */
static void convert(const char *dir, const char *name, const char *ending, enum strobe_format format, int deflate)
{
    static int more;
    struct strobe_error error;
    char session[512], trace[512];
    struct strobe_convert_options options = {.format = format, .deflate = deflate, .replace = 1};
    struct strobe_convert_stats s;
    snprintf(session, sizeof session, "%s/%s.strobe", dir, name);
    snprintf(trace, sizeof trace, "%s/%s%s", dir, name, ending);
    if (strobe_convert(session, trace, &options, &s, &error) != STROBE_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(2);
    }
    uint64_t instants = format == STROBE_FORMAT_PERFETTO ? s.perfetto.instants : s.timeline.instants;
    printf("%s{\"trace\":\"%s\",\"threads\":%" PRIu64 ",\"slices\":%" PRIu64 ",\"instants\":%" PRIu64
           ",\"process_values\":%" PRIu64 ",\"hitches\":%" PRIu64 ",\"counter_values\":%" PRIu64 ",\"samples\":%" PRIu64
           ",\"bytes\":%" PRIu64 ",\"pid\":%" PRIu32 "}\n",
           more ? "," : "", trace, s.timeline.threads, s.timeline.slices, instants, s.timeline.values,
           s.timeline.hitches, s.perfetto.counter_values, s.perfetto.samples, s.bytes, pid_of(session));
    more = 1;
}

static void convert_all(const char *dir, const char *name)
{
    convert(dir, name, ".perfetto-trace", STROBE_FORMAT_PERFETTO, 0);
    convert(dir, name, "-deflated.perfetto-trace", STROBE_FORMAT_PERFETTO, 1);
    convert(dir, name, ".json", STROBE_FORMAT_CHROME, 0);
    convert(dir, name, ".speedscope.json", STROBE_FORMAT_SPEEDSCOPE, 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*make)(const char *path);
    } sessions[] = {
        {"ordinary", ordinary}, {"odd", odd}, {"lossy", lossy}, {"process", process}, {"empty", empty},
    };
    if (argc < 2)
        return 2;
    puts("[");
    for (size_t i = 0; i < sizeof sessions / sizeof sessions[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s.strobe", argv[1], sessions[i].name);
        sessions[i].make(path);
        convert_all(argv[1], sessions[i].name);
    }
    for (int i = 2; i < argc; i++)
        convert_all(argv[1], argv[i]);
    puts("]");
    return 0;
}

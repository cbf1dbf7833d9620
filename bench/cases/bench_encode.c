/* Converts a million samples of one thread to slices and to a Perfetto trace, from a session in memory to writes to
 * /dev/null. Each sample is a separate record, also one equal to the sample before, which a capture would have
 * merged. This is the harder input. Also measures the bytes of a slice in the trace, and the growth of memory with
 * the number of samples. */
#include "bench/bench.h"
#include "bench/stackgen.h"
#include "engine/base/error.h"

#include "engine/base/mix.h"
#include "engine/trace/build/timeline.h"
#include "engine/trace/export/sink_perfetto.h"
#include "engine/trace/session/reader.h"
#include "tests/support/temporary.h"
#include "tests/unit/support/session_builder.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    MILLION = 1000000,
    QUARTER = MILLION / 4,
    SPACING_NS = 100000,
    REPEAT_PERMILLE = 900,
    METRICS_EVERY = 25, /* samples, as with a metrics interval of 2.5 ms */
    BURST = 128,
    BURSTS = 4, /* of each 4 x 128 samples, the thread allocates in the first 128 */
    TID = 4711,
};

struct input {
    uint32_t samples;
    struct strobe_reader *reader;
};

static struct input whole = {.samples = MILLION}, quarter = {.samples = QUARTER};

static void check(enum strobe_status status, const char *what)
{
    if (status == STROBE_OK)
        return;
    fprintf(stderr, "bench: %s: %s\n", what, strobe_status_text(status));
    abort();
}

static void add_sample(struct strobe_build *b, uint32_t thread, uint32_t stack, uint64_t count, uint64_t ticks)
{
    struct strobe_record record = {.ticks = ticks, .stack = stack, .thread = thread};
    uint64_t allocating = count / (BURST * BURSTS) * BURST + (count % (BURST * BURSTS) < BURST ? count % BURST : BURST);
    struct strobe_metrics metrics = {.alloc_count = allocating * 3, .alloc_bytes = allocating * 200};
    bool with_metrics = count % METRICS_EVERY == 0;
    if (with_metrics) {
        record.flags = STROBE_FLAG_CPU;
        record.cpu_ns = ticks / 10 * 9;
    }
    check(strobe_build_record(b, record, with_metrics ? &metrics : NULL), "record");
}

static void build_session(const struct input *in, const char *path)
{
    struct stackgen_options options = {
        .samples = in->samples,
        .fresh_permille = 1,
        .repeat_permille = REPEAT_PERMILLE,
    };
    struct stackgen *g = stackgen_new(&options);
    struct stackgen_stack stack;
    struct strobe_build b;
    struct strobe_config config = strobe_build_config();
    uint64_t ticks = 0, count = 0;
    config.ring_slots = 1 << 20;
    config.stack_nodes = 1 << 18;
    strobe_build_begin(&b, path, &config);
    uint32_t thread = strobe_build_thread(&b, TID, "bench");
    while (stackgen_next(g, &stack)) {
        uint32_t id = strobe_build_stack(&b, stack.frames, stack.depth);
        if (!stack.warm_up)
            add_sample(&b, thread, id, count++, ticks += SPACING_NS / 2 + strobe_mix64(ticks) % SPACING_NS);
    }
    strobe_build_end(&b, ticks);
    stackgen_free(g);
}

static void load(struct input *in)
{
    struct strobe_error error;
    char path[TEMPORARY_BYTES];
    int fd = mkstemp(temporary_path(path, "strobe-bench-XXXXXX"));
    if (fd < 0)
        abort();
    close(fd);
    build_session(in, path);
    check(strobe_reader_open(path, &in->reader, &error), path);
    unlink(path);
}

/* Each address is a separate function; ctx counts them. */
static size_t resolve(void *ctx, uint64_t address, struct strobe_symbol *out, size_t max)
{
    (void)max;
    uint32_t *functions = ctx;
    *out = (struct strobe_symbol){
        .function = "a_function_of_usual_length",
        .image = "/usr/lib/libsome.so.1",
        .file = "",
        .function_id = (*functions)++,
        .function_address = address,
    };
    return 1;
}

struct figures {
    struct strobe_timeline_stats timeline;
    struct strobe_perfetto_stats perfetto;
    uint64_t bytes;
};

static void write_trace(struct strobe_function_tree *tree, const struct input *in, bool samples, bool deflate,
                        struct figures *out)
{
    struct strobe_outfile file;
    const struct strobe_timeline_options options = {.no_samples = !samples};
    check(strobe_outfile_open(&file, "/dev/null", 1), "/dev/null");
    struct strobe_sink *sink = strobe_sink_perfetto(&file, deflate, &out->perfetto);
    if (!sink)
        abort();
    check(strobe_timeline_build(in->reader, tree, &options, sink, &out->timeline), "timeline");
    out->bytes = file.bytes + file.used;
    check(strobe_outfile_finish(&file, 0), "/dev/null");
}

/* A whole conversion after the session is read: folds stacks, resolves names and writes slices for the first time. */
static void convert(const struct input *in, bool samples, bool deflate, struct figures *out)
{
    struct strobe_function_tree *tree;
    uint32_t functions = 0;
    check(strobe_function_tree_open(&in->reader->session.stacks,
                                    (struct strobe_resolver){.resolve = resolve, .ctx = &functions}, &tree),
          "tree");
    write_trace(tree, in, samples, deflate, out);
    strobe_function_tree_close(tree);
}

/* Returns the peak of the resident set since the last call, in KiB, and resets the kernel's peak (proc(5),
 * clear_refs). */
static double peak_kib(void)
{
    char line[128];
    double kib = NAN;
    FILE *status = fopen("/proc/self/status", "r"), *mark;
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "VmHWM: %lf", &kib);
    if (status)
        fclose(status);
    if ((mark = fopen("/proc/self/clear_refs", "w"))) {
        fputs("5", mark);
        fclose(mark);
    }
    return kib;
}

struct variant {
    struct input *input;
    bool samples, deflate;
};

static void encode(struct gbench_state *s, const void *arg)
{
    const struct variant *v = arg;
    struct figures f = {0};
    malloc_trim(0);
    peak_kib();
    double before = peak_kib();
    while (gbench_loop(s))
        convert(v->input, v->samples, v->deflate, &f);
    gbench_counter(s, "peak_kib", peak_kib() - before);
    gbench_counter(s, "slices", (double)f.timeline.slices);
    gbench_counter(s, "raw", (double)f.perfetto.raw_bytes / (double)f.timeline.slices);
    gbench_counter(s, "written", (double)f.bytes / (double)f.timeline.slices);
}

void bench_encode_add(void)
{
    static const struct variant slices = {&whole, false, false}, deflated = {&whole, false, true},
                                all = {&whole, true, false}, less = {&quarter, false, false};
    load(&whole);
    load(&quarter);
    gbench_add(&(struct gbench_spec){.name = "encode/slices", .run = encode, .arg = &slices, .turns = 1});
    gbench_add(&(struct gbench_spec){.name = "encode/deflated", .run = encode, .arg = &deflated, .turns = 1});
    gbench_add(&(struct gbench_spec){.name = "encode/all", .run = encode, .arg = &all, .turns = 1});
    gbench_add(&(struct gbench_spec){.name = "encode/quarter", .run = encode, .arg = &less, .turns = 1});
}

double bench_encode_slice_ns(void)
{
    return gbench_median_ns("encode/slices") / gbench_counter_of("encode/slices", "slices");
}

void bench_encode_rows(void)
{
    bench_row_most("diff and Perfetto, 1 M samples", "CPU ms", gbench_median_ns("encode/slices") / 1e6, 30);
    bench_row_note("  a slice of them", "CPU ns", bench_encode_slice_ns());
    bench_row_note("  with callstack samples", "CPU ms", gbench_median_ns("encode/all") / 1e6);
    bench_row_note("  deflated", "CPU ms", gbench_median_ns("encode/deflated") / 1e6);
    bench_row_most("trace, raw", "B/slice", gbench_counter_of("encode/slices", "raw"), 48);
    bench_row_most("trace, deflated", "B/slice", gbench_counter_of("encode/deflated", "written"), 17);
    bench_row_ratio("peak memory, 1 M samples", "KiB", gbench_counter_of("encode/slices", "peak_kib"), "250 k samples",
                    gbench_counter_of("encode/quarter", "peak_kib"), 1.5);
}

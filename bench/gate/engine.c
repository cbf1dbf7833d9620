/* Fixed work for counting instructions. It is equal in each run, because it uses no clock, no thread and no address.
 *
 *     gate-driver intern | ring | diff | encode
 *     gate-driver modes
 *
 * The gate counts the instructions of the function measured_MODE and its callees. */
#include "bench/gate/modes.h"
#include "bench/stackgen.h"
#include "engine/base/error.h"

#include "engine/base/hint.h"
#include "engine/store/ring.h"
#include "engine/store/stack_table.h"
#include "engine/trace/build/timeline.h"
#include "engine/trace/export/sink_perfetto.h"
#include "tests/support/temporary.h"
#include "tests/unit/support/session_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STACKS = 20000,
    NODE_CAPACITY = 1 << 17,
    RECORDS = 50000,
    SLOTS = 1 << 13,
    SUBS = 4,
    MERGES_OF_4 = 3,
    SAMPLES = 20000,
    SPACING_NS = 1000000,
    METRICS_EVERY = 8,
};

STROBE_NOINLINE void measured_intern(const struct strobe_stack_table *table, const struct stackgen_stream *stream);
STROBE_NOINLINE void measured_ring(const struct strobe_ring *ring);
STROBE_NOINLINE void measured_diff(const struct strobe_reader *reader);
STROBE_NOINLINE void measured_encode(const struct strobe_reader *reader);

static void *zeroed(size_t bytes)
{
    void *p = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    if (!p)
        abort();
    return memset(p, 0, bytes);
}

static void check(enum strobe_status status)
{
    if (status != STROBE_OK) {
        fprintf(stderr, "gate-driver: %s\n", strobe_status_text(status));
        exit(1);
    }
}

void measured_intern(const struct strobe_stack_table *table, const struct stackgen_stream *stream)
{
    struct strobe_stack_cursor cursor = {0};
    for (uint32_t i = 0; i < stream->count; i++) {
        uint32_t id, depth = (uint32_t)(stream->start[i + 1] - stream->start[i]);
        check(strobe_stack_intern(table, &cursor, stream->frames + stream->start[i], depth, &id));
    }
}

static void intern(void)
{
    struct stackgen_options options = {.samples = STACKS, .tree_nodes = 20000, .fresh_permille = 50};
    struct stackgen_stream stream;
    struct strobe_stack_table table;
    size_t bytes = strobe_stack_table_bytes(NODE_CAPACITY);
    void *memory = zeroed(bytes);
    stackgen_collect(&options, &stream);
    strobe_stack_table_create(memory, NODE_CAPACITY);
    check(strobe_stack_table_open(memory, bytes, &table));
    measured_intern(&table, &stream);
    stackgen_release(&stream);
    free(memory);
}

void measured_ring(const struct strobe_ring *ring)
{
    struct strobe_ring_writer writer = {0};
    struct strobe_record record = {.count = 1, .kind = STROBE_KIND_ALLOC};
    struct strobe_metrics metrics = {.alloc_count = 1};
    strobe_ring_writer_init(ring, &writer, 4711);
    for (uint32_t i = 0; i < RECORDS; i++) {
        record.ticks = i;
        record.count = 1;
        check(strobe_ring_write(ring, &writer, &record, i % 8 ? NULL : &metrics));
        for (uint32_t m = 0; i % 4 == 1 && m < MERGES_OF_4; m++) {
            record.count++;
            enum strobe_status status = strobe_ring_rewrite(ring, &writer, &record, NULL);
            if (status != STROBE_NO_ENTRY)
                check(status);
        }
    }
    strobe_ring_writer_close(ring, &writer);
    struct strobe_ring_item item;
    for (uint32_t i = 0; i < strobe_ring_slot_count(ring); i++)
        strobe_ring_look(ring, i, &item);
}

static void ring(void)
{
    struct strobe_ring ring;
    size_t bytes = strobe_ring_bytes(SLOTS, SUBS);
    void *memory = zeroed(bytes);
    strobe_ring_create(memory, SLOTS, SUBS, STROBE_KEEP_NEWEST);
    check(strobe_ring_open(memory, bytes, &ring));
    measured_ring(&ring);
    free(memory);
}

/* Makes and reads a session of one thread, in which many neighbouring stacks are equal. */
static struct strobe_reader *session(void)
{
    struct strobe_error error;
    char path[TEMPORARY_BYTES];
    struct stackgen_options options = {
        .samples = SAMPLES,
        .tree_nodes = 5000,
        .fresh_permille = 10,
        .repeat_permille = 500,
    };
    struct strobe_config config = strobe_build_config();
    struct strobe_build b;
    struct stackgen_stack stack;
    uint64_t ticks = 0, count = 0;
    int fd = mkstemp(temporary_path(path, "strobe-gate-XXXXXX"));
    if (fd < 0)
        abort();
    close(fd);
    config.ring_slots = 2 * SAMPLES;
    config.stack_nodes = 1 << 15;
    strobe_build_begin(&b, path, &config);
    uint32_t thread = strobe_build_thread(&b, 4711, "gate");
    struct stackgen *g = stackgen_new(&options);
    while (stackgen_next(g, &stack)) {
        ticks += SPACING_NS;
        struct strobe_record record = {.ticks = ticks, .thread = thread, .flags = STROBE_FLAG_CPU, .cpu_ns = ticks / 2};
        struct strobe_metrics metrics = {.alloc_count = count, .alloc_bytes = 64 * count};
        record.stack = strobe_build_stack(&b, stack.frames, stack.depth);
        if (!stack.warm_up)
            check(strobe_build_record(&b, record, count++ % METRICS_EVERY ? NULL : &metrics));
    }
    stackgen_free(g);
    strobe_build_end(&b, ticks);
    struct strobe_reader *reader;
    check(strobe_reader_open(path, &reader, &error));
    unlink(path);
    return reader;
}

static size_t resolve(void *ctx, uint64_t address, struct strobe_symbol *out, size_t max)
{
    (void)max;
    uint32_t *functions = ctx;
    *out = (struct strobe_symbol){
        .function = "a_function",
        .image = "/usr/lib/libsome.so.1",
        .file = "",
        .function_id = (*functions)++,
        .function_address = address,
    };
    return 1;
}

static void build_timeline(const struct strobe_reader *reader, struct strobe_sink *sink)
{
    const struct strobe_timeline_options options = {.no_samples = 0};
    struct strobe_function_tree *tree;
    uint32_t functions = 0;
    check(strobe_function_tree_open(&reader->session.stacks,
                                    (struct strobe_resolver){.resolve = resolve, .ctx = &functions}, &tree));
    check(strobe_timeline_build(reader, tree, &options, sink, NULL));
    strobe_function_tree_close(tree);
}

/* A sink that writes nothing. */
static void on_start(struct strobe_sink *s, const struct strobe_reader *r, struct strobe_function_tree *t)
{
    (void)s, (void)r, (void)t;
}

static void on_thread(struct strobe_sink *s, const struct strobe_reader_thread *t)
{
    (void)s, (void)t;
}

static void on_begin(struct strobe_sink *s, const struct strobe_slice *slice)
{
    (void)s, (void)slice;
}

static void on_end(struct strobe_sink *s, const struct strobe_slice *slice, const struct strobe_moment *now)
{
    (void)s, (void)slice, (void)now;
}

static void on_instant(struct strobe_sink *s, uint64_t time_ns, const char *name, const struct strobe_note *notes,
                       size_t note_count)
{
    (void)s, (void)time_ns, (void)name, (void)notes, (void)note_count;
}

static void on_samples(struct strobe_sink *s, const struct strobe_samples *samples)
{
    (void)s, (void)samples;
}

static void on_thread_end(struct strobe_sink *s)
{
    (void)s;
}

static enum strobe_status on_finish(struct strobe_sink *s)
{
    (void)s;
    return STROBE_OK;
}

void measured_diff(const struct strobe_reader *reader)
{
    struct strobe_sink nothing = {.start = on_start,
                                  .thread_begin = on_thread,
                                  .slice_begin = on_begin,
                                  .slice_end = on_end,
                                  .instant = on_instant,
                                  .samples = on_samples,
                                  .thread_end = on_thread_end,
                                  .finish = on_finish};
    build_timeline(reader, &nothing);
}

static void diff(void)
{
    struct strobe_reader *reader = session();
    measured_diff(reader);
    strobe_reader_close(reader);
}

void measured_encode(const struct strobe_reader *reader)
{
    struct strobe_outfile file;
    struct strobe_perfetto_stats stats;
    check(strobe_outfile_open(&file, "/dev/null", 1));
    struct strobe_sink *sink = strobe_sink_perfetto(&file, 0, &stats);
    if (!sink)
        abort();
    build_timeline(reader, sink);
    check(strobe_outfile_finish(&file, 0));
}

static void encode(void)
{
    struct strobe_reader *reader = session();
    measured_encode(reader);
    strobe_reader_close(reader);
}

int main(int argc, char **argv)
{
    static const struct gate_mode modes[] = {
        {"intern", intern},
        {"ring", ring},
        {"diff", diff},
        {"encode", encode},
    };
    return gate_run_mode(modes, sizeof modes / sizeof *modes, argc, argv);
}

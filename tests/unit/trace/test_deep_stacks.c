/* Stacks of the greatest depth, with the greatest number of inlined functions at each address: no frame is lost. */
#include "engine/trace/build/timeline.h"
#include "engine/trace/export/sink_perfetto.h"
#include "engine/trace/import/perfetto/proto_read.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { INLINES = STROBE_SYMBOLS_FRAMES_MAX, FRAMES = STROBE_STACK_DEPTH_MAX, MS = 1000000 };

/* Address n has the functions n * INLINES to n * INLINES + INLINES - 1, outermost first, all of the same name. */
static size_t resolve(void *ctx, uint64_t address, struct strobe_symbol *out, size_t max)
{
    (void)ctx;
    assert_true(max >= INLINES);
    for (unsigned i = 0; i < INLINES; i++)
        out[i] = (struct strobe_symbol){.function = "f",
                                        .image = "",
                                        .file = "",
                                        .function_id = (uint32_t)address * INLINES + i,
                                        .function_address = address};
    return INLINES;
}

static struct strobe_build build;

static uint32_t stack_of(uint32_t depth)
{
    uint64_t address[FRAMES];
    for (uint32_t i = 0; i < depth; i++)
        address[i] = i + 1;
    return strobe_build_stack(&build, address, depth);
}

/* Emits the session's timeline to a sink. */
static void write_timeline(struct strobe_sink *(*open)(struct strobe_outfile *out), struct strobe_sink *to)
{
    const struct strobe_timeline_options options = {0};
    struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    struct strobe_outfile out;
    assert_int_equal(strobe_reader_open(temp_dir_path("session"), &reader, NULL), STROBE_OK);
    assert_int_equal(strobe_function_tree_open(&reader->session.stacks,
                                               (struct strobe_resolver){.resolve = resolve, .ctx = NULL}, &tree),
                     STROBE_OK);
    assert_int_equal(strobe_outfile_open(&out, temp_dir_path("out"), 1), STROBE_OK);
    assert_int_equal(strobe_timeline_build(reader, tree, &options, open ? open(&out) : to, NULL), STROBE_OK);
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    strobe_function_tree_close(tree);
    strobe_reader_close(reader);
}

/* ---- the timeline */

static uint32_t deepest;

static void note_slice(struct strobe_sink *sink, const struct strobe_slice *slice)
{
    (void)sink;
    if (slice->depth > deepest)
        deepest = slice->depth;
}

static void slice_end(struct strobe_sink *sink, const struct strobe_slice *slice, const struct strobe_moment *now)
{
    (void)sink, (void)slice, (void)now;
}

static void thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *thread)
{
    (void)sink, (void)thread;
}

static void start(struct strobe_sink *sink, const struct strobe_reader *reader, struct strobe_function_tree *tree)
{
    (void)sink, (void)reader, (void)tree;
}

static enum strobe_status finish(struct strobe_sink *sink)
{
    (void)sink;
    return STROBE_OK;
}

static void a_stack_within_a_blocking_call_keeps_all_its_functions(void **state)
{
    struct strobe_config config = strobe_build_config();
    struct strobe_sink sink = {.start = start,
                               .thread_begin = thread_begin,
                               .slice_begin = note_slice,
                               .slice_end = slice_end,
                               .finish = finish};
    (void)state;
    strobe_build_begin(&build, temp_dir_path("session"), &config);
    uint32_t thread = strobe_build_thread(&build, 4242, "main");
    strobe_build_record(&build,
                        (struct strobe_record){.ticks = MS,
                                               .duration = 8 * MS,
                                               .stack = stack_of(1),
                                               .thread = thread,
                                               .kind = STROBE_KIND_POLL,
                                               .flags = STROBE_FLAG_SCOPE},
                        NULL);
    strobe_build_record(
        &build,
        (struct strobe_record){.ticks = 3 * MS, .stack = stack_of(FRAMES), .thread = thread, .kind = STROBE_KIND_ASYNC},
        NULL);
    strobe_build_end(&build, 10 * MS);
    deepest = 0;
    write_timeline(NULL, &sink);
    assert_int_equal(deepest, FRAMES * INLINES + 1); /* and the wait's frame */
}

/* ---- Perfetto */

static struct strobe_perfetto_stats wrote;

static struct strobe_sink *open_perfetto(struct strobe_outfile *out)
{
    return strobe_sink_perfetto(out, 0, &wrote);
}

static size_t count_fields(struct strobe_proto message, uint32_t number)
{
    struct strobe_proto_field f;
    size_t count = 0;
    while (strobe_proto_next(&message, &f) == STROBE_PROTO_FIELD)
        count += f.number == number;
    return count;
}

/* Returns the frames of the largest callstack: packet 1, interned data 12, callstack 7, frames 2. */
static size_t most_frames(struct strobe_proto trace)
{
    struct strobe_proto_field packet, data, stack;
    size_t most = 0;
    while (strobe_proto_next(&trace, &packet) == STROBE_PROTO_FIELD)
        while (strobe_proto_next(&packet.bytes, &data) == STROBE_PROTO_FIELD)
            while (data.number == 12 && strobe_proto_next(&data.bytes, &stack) == STROBE_PROTO_FIELD) {
                size_t count = stack.number == 7 ? count_fields(stack.bytes, 2) : 0;
                most = count > most ? count : most;
            }
    return most;
}

static void a_perfetto_callstack_has_all_functions(void **state)
{
    struct strobe_config config = strobe_build_config();
    (void)state;
    strobe_build_begin(&build, temp_dir_path("session"), &config);
    uint32_t thread = strobe_build_thread(&build, 4242, "main");
    strobe_build_record(&build,
                        (struct strobe_record){.ticks = MS,
                                               .stack = stack_of(FRAMES),
                                               .thread = thread,
                                               .kind = STROBE_KIND_ASYNC,
                                               .flags = STROBE_FLAG_CUT},
                        NULL);
    strobe_build_end(&build, 10 * MS);
    write_timeline(open_perfetto, NULL);
    size_t bytes;
    char *trace = temp_dir_read("out", &bytes);
    assert_int_equal(most_frames((struct strobe_proto){(uint8_t *)trace, (uint8_t *)trace + bytes}),
                     FRAMES * INLINES + 1); /* and the frame that marks a cut stack */
    free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_within_a_blocking_call_keeps_all_its_functions),
        cmocka_unit_test(a_perfetto_callstack_has_all_functions),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}

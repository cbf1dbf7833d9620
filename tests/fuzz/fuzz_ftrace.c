/* Any ftrace text: reading ends and stays within the bounds. The calls read can be repaired, and nest then. Text
 * written from them reads back complete. The input's first byte states how marks are read. */
#include "engine/base/error.h"
#include "engine/trace/build/calls_timeline.h"
#include "engine/trace/export/ftrace_write.h"
#include "engine/trace/import/ftrace/ftrace_read.h"
#include "engine/trace/model/calls_repair.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static enum strobe_status nothing(struct strobe_sink *sink)
{
    (void)sink;
    return STROBE_OK;
}

static void start(struct strobe_sink *sink, const struct strobe_reader *r, struct strobe_function_tree *tree)
{
    (void)sink, (void)r, (void)tree;
}

static void thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *t)
{
    (void)sink, (void)t;
}

static void slice_begin(struct strobe_sink *sink, const struct strobe_slice *s)
{
    (void)sink, (void)s;
}

static void slice_end(struct strobe_sink *sink, const struct strobe_slice *s, const struct strobe_moment *now)
{
    (void)sink;
    if (now->time_ns <= s->begin.time_ns)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_calls calls;
    struct strobe_outfile out;
    struct strobe_error error;
    if (!bytes)
        return 0;
    struct strobe_ftrace_options options = {.marks = (enum strobe_ftrace_marks)(data[0] % 3)};
    enum strobe_status status = strobe_ftrace_read((const char *)data + 1, bytes - 1, &options, &calls, NULL, &error);
    if (status == STROBE_OK && strobe_calls_repair(&calls, (enum strobe_repair)(data[0] >> 7), NULL) == STROBE_OK) {
        struct strobe_sink sink = {.start = start,
                                   .thread_begin = thread_begin,
                                   .slice_begin = slice_begin,
                                   .slice_end = slice_end,
                                   .finish = nothing};
        if (strobe_calls_timeline(&calls, &sink, NULL) != STROBE_OK)
            abort();
        if (strobe_outfile_open(&out, "/dev/null", 1) == STROBE_OK) {
            strobe_ftrace_write(&calls, &out);
            strobe_outfile_finish(&out, 0);
        }
    }
    strobe_calls_close(&calls);
    return 0;
}

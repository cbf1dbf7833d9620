/* Reads ftrace text of an instrumented app to calls, in memory, beside one pass of memchr over its lines, which any
 * reader of lines needs. Then makes a trace of the calls, and reads the same calls from a log of btrace 2.0. */
#include "bench/bench.h"
#include "engine/base/error.h"

#include "engine/base/mix.h"
#include "engine/trace/build/calls_timeline.h"
#include "engine/trace/export/btrace2_write.h"
#include "engine/trace/export/sink_perfetto.h"
#include "engine/trace/import/btrace/btrace2_read.h"
#include "engine/trace/import/ftrace/ftrace_read.h"
#include "engine/trace/model/calls_repair.h"
#include "engine/util/whole_file.h"
#include "tests/support/temporary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINES = 300000, THREADS = 20, METHODS = 4000, DEPTH = 30, PID = 2716, LINE_BYTES_MAX = 160 };

static char *text;
static size_t text_bytes;
static struct strobe_whole_file log_file;

static void check(enum strobe_status status, const char *what)
{
    if (status == STROBE_OK)
        return;
    fprintf(stderr, "bench: %s: %s\n", what, strobe_status_text(status));
    abort();
}

/* Threads run in random turns; each calls and returns. */
static void make_text(void)
{
    uint32_t depth[THREADS] = {0};
    uint64_t random = 1, us = 12345000000;
    text = malloc((size_t)LINES * LINE_BYTES_MAX);
    if (!text)
        abort();
    for (uint32_t i = 0; i < LINES; i++) {
        random = strobe_mix64(random + 0x9e3779b97f4a7c15u);
        uint32_t t = (uint32_t)(random % THREADS), method = (uint32_t)(random >> 8) % METHODS;
        us += random >> 32 & 15;
        text_bytes += (size_t)sprintf(
            text + text_bytes, "%16s-%-5u (%5u) [%03u] ...1 %llu.%06llu: tracing_mark_write: ", "pool-thread", PID + t,
            PID, t % 8, (unsigned long long)(us / 1000000), (unsigned long long)(us % 1000000));
        bool begins = !depth[t] || (depth[t] < DEPTH && random >> 40 & 1);
        depth[t] = begins ? depth[t] + 1 : depth[t] - 1;
        char *at = text + text_bytes;
        text_bytes += begins ? (size_t)sprintf(at, "B|%u|com.example.app.feature%u.Class%u.method%u\n", PID,
                                               method % 37, method % 211, method)
                             : (size_t)sprintf(at, "E|%u\n", PID);
    }
}

static void read_text(struct strobe_calls *calls)
{
    struct strobe_error error;
    const struct strobe_ftrace_options options = {.marks = STROBE_FTRACE_AUTO};
    check(strobe_ftrace_read(text, text_bytes, &options, calls, NULL, &error), "ftrace");
}

static void make_log(void)
{
    char path[TEMPORARY_BYTES];
    struct strobe_calls calls;
    struct strobe_outfile out;
    int fd = mkstemp(temporary_path(path, "strobe-bench-XXXXXX"));
    if (fd < 0)
        abort();
    close(fd);
    read_text(&calls);
    check(strobe_calls_repair(&calls, STROBE_REPAIR_LAST, NULL), "repair");
    check(strobe_outfile_open(&out, path, 1), path);
    check(strobe_btrace2_write(&calls, 0, &out, NULL, NULL), "log");
    check(strobe_outfile_finish(&out, 0), path);
    check(strobe_whole_file_open(path, &log_file), path);
    strobe_calls_close(&calls);
    unlink(path);
}

static void pass(struct gbench_state *s, const void *arg)
{
    (void)arg;
    while (gbench_loop(s)) {
        size_t lines = 0;
        for (const char *p = text; (p = memchr(p, '\n', (size_t)(text + text_bytes - p))) != NULL; p++)
            lines++;
        bench_keep(&lines);
    }
}

static void import_text(struct gbench_state *s, const void *arg)
{
    (void)arg;
    while (gbench_loop(s)) {
        struct strobe_calls calls;
        read_text(&calls);
        strobe_calls_close(&calls);
    }
}

static void import_log(struct gbench_state *s, const void *arg)
{
    (void)arg;
    while (gbench_loop(s)) {
        struct strobe_calls calls;
        const struct strobe_btrace2_options options = {.system_ns = 0};
        struct strobe_error error;
        check(strobe_btrace2_read(log_file.at, log_file.bytes, &options, &calls, NULL, &error), "log");
        strobe_calls_close(&calls);
    }
}

static void whole(struct gbench_state *s, const void *arg)
{
    (void)arg;
    while (gbench_loop(s)) {
        struct strobe_calls calls;
        struct strobe_outfile out;
        struct strobe_perfetto_stats stats;
        read_text(&calls);
        check(strobe_calls_repair(&calls, STROBE_REPAIR_LAST, NULL), "repair");
        check(strobe_outfile_open(&out, "/dev/null", 1), "/dev/null");
        check(strobe_calls_timeline(&calls, strobe_sink_perfetto(&out, 0, &stats), NULL), "timeline");
        check(strobe_outfile_finish(&out, 0), "/dev/null");
        strobe_calls_close(&calls);
    }
}

void bench_import_add(void)
{
    make_text();
    make_log();
    gbench_add(&(struct gbench_spec){.name = "import/memchr", .run = pass, .turns = 1});
    gbench_add(&(struct gbench_spec){.name = "import/ftrace", .run = import_text, .turns = 1});
    gbench_add(&(struct gbench_spec){.name = "import/btrace2", .run = import_log, .turns = 1});
    gbench_add(&(struct gbench_spec){.name = "import/whole", .run = whole, .turns = 1});
}

void bench_import_rows(void)
{
    double mb = (double)text_bytes / 1e6;
    /* The target: 200 MB per second. */
    bench_row_most("ftrace text to calls, a MB", "CPU ms", gbench_median_ns("import/ftrace") / 1e6 / mb, 5);
    bench_row_note("  a pass of memchr over its lines", "CPU ms", gbench_median_ns("import/memchr") / 1e6 / mb);
    bench_row_note("  to a Perfetto trace, repaired", "CPU ms", gbench_median_ns("import/whole") / 1e6 / mb);
    bench_row_note("btrace 2.0 log to calls, a record", "CPU ns",
                   gbench_median_ns("import/btrace2") / ((double)log_file.bytes / 16));
}

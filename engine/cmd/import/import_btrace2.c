/* `strobe import btrace2`: method logs of btrace 2.0. */
#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/import/import.h"
#include "engine/cmd/import/import_calls.h"

#include "engine/trace/import/btrace/btrace2_read.h"
#include "engine/util/whole_file.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAPPING = IMPORT_OWN, SYSTEM_BEGIN };

struct request {
    struct strobe_import_calls common;
    struct strobe_btrace2_options options;
    const char *mapping;
};

static int take_btrace2_option(struct request *q, int c)
{
    switch (c) {
    case MAPPING: q->mapping = optarg; return 0;
    case SYSTEM_BEGIN:
        if (!strobe_parse_time(optarg, &q->options.system_ns))
            return strobe_complain("import: --system-begin %s: expected a time such as 250ms or 1.5s", optarg);
        return 0;
    default: return strobe_import_calls_option(&q->common, c);
    }
}

static void print_btrace2_stats(const struct request *q, const struct strobe_btrace2_stats *s)
{
    uint64_t imported = s->records - s->early;
    strobe_import_calls_count(&q->common, s->early, "calls that ended before the trace began, skipped");
    strobe_import_calls_count(&q->common, s->clamped, "calls that began before the trace; they begin with it");
    strobe_import_calls_count(&q->common, s->cut, "calls with an end after their caller's end; they end with it");
    strobe_import_calls_count(&q->common, s->tail_bytes, "bytes at the end that are no complete record, skipped");
    strobe_import_calls_count(&q->common, s->nameless_calls,
                              q->mapping && s->nameless_calls * 2 >= imported
                                  ? "calls without a name, half of them or more (is the mapping this build's?)"
                                  : "calls without a name");
}

static int import_log(struct request *q)
{
    struct strobe_whole_file file;
    struct strobe_calls calls;
    struct strobe_btrace2_stats stats;
    struct strobe_error error = {""};
    const char *input = q->common.input;
    if (strobe_whole_file_open(input, &file) != STROBE_OK)
        return strobe_complain("%s: %s", input, strerror(errno));
    enum strobe_status status = strobe_btrace2_read(file.at, file.bytes, &q->options, &calls, &stats, &error);
    strobe_whole_file_close(&file);
    int exit_status;
    if (status == STROBE_OK) {
        exit_status = strobe_import_calls_write(&q->common, &calls, 0);
        if (exit_status == STROBE_EXIT_OK)
            print_btrace2_stats(q, &stats);
    } else {
        exit_status = strobe_complain("%s: %s", input, error.text);
    }
    strobe_calls_close(&calls);
    return exit_status;
}

static int import_btrace2_log(struct request *q)
{
    struct strobe_matrix_map *map = NULL;
    struct strobe_error error = {""};
    if (q->mapping && strobe_matrix_map_read(q->mapping, &map, &error) != STROBE_OK)
        return strobe_complain("%s", error.text);
    q->options.map = map;
    int exit_status = import_log(q);
    strobe_matrix_map_close(map);
    return exit_status;
}

int strobe_import_btrace2(int argc, char **argv)
{
    static const struct option table[] = {STROBE_IMPORT_CALLS_OPTIONS,
                                          {"mapping", required_argument, NULL, MAPPING},
                                          {"system-begin", required_argument, NULL, SYSTEM_BEGIN},
                                          {NULL, 0, NULL, 0}};
    struct request q = {0};
    for (int c; (c = strobe_any_option(argc, argv, table)) != -1;) {
        if (c == 'h')
            return strobe_print_usage(strobe_usage_import);
        int bad = take_btrace2_option(&q, c);
        if (bad)
            return bad;
    }
    int bad = strobe_import_calls_arguments(&q.common, "btrace2", argc, argv);
    return bad ? bad : import_btrace2_log(&q);
}

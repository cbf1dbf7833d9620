/* `strobe import matrix-events` and `matrix-log`: the reports that Matrix makes from streams of events, and from the
 * messages in dumps of its log. */
#include "engine/base/error.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/import/import.h"
#include "engine/trace/import/matrix/matrix.h"
#include "engine/util/json.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTRACT = 256, MAPPING };

struct request {
    const char *path;
    enum strobe_matrix_contract contract;
    struct strobe_matrix_map *map; /* NULL: methods are shown by number */
};

static void print_item(struct strobe_json *j, const struct strobe_matrix_item *item, const char *name)
{
    char line[1024], *longer = NULL;
    int bytes = strobe_matrix_line(item, name, line, sizeof line);
    if (bytes >= (int)sizeof line && (longer = malloc((size_t)bytes + 1)))
        strobe_matrix_line(item, name, longer, (size_t)bytes + 1);
    strobe_json_text(j, NULL, longer ? longer : line);
    free(longer);
}

static void print_items(struct strobe_json *j, const char *key, const struct strobe_matrix_stack *stack,
                        const struct strobe_matrix_map *map)
{
    strobe_json_array(j, key);
    for (size_t i = 0; i < stack->count; i++) {
        const struct strobe_matrix_method *m = map ? strobe_matrix_map_of(map, stack->items[i].method) : NULL;
        print_item(j, &stack->items[i], m ? m->name : NULL);
    }
    strobe_json_array_end(j);
}

/* Returns the length of the message: from its begin (or from the first event when there is none) to the end. */
static int64_t message_ms(const uint64_t *entries, size_t count, int64_t end_ms)
{
    size_t first = 0;
    while (first < count &&
           (!strobe_matrix_is_enter(entries[first]) || strobe_matrix_id(entries[first]) != STROBE_MATRIX_DISPATCH))
        first++;
    if (!count)
        return 0;
    int64_t begin = (int64_t)strobe_matrix_ms(entries[first < count ? first : 0]);
    int64_t end = end_ms == STROBE_MATRIX_NO_END ? (int64_t)strobe_matrix_ms(entries[count - 1]) : end_ms;
    return end > begin ? end - begin : 0;
}

/* Prints one report. Returns false when memory runs out. */
static bool print_report(struct strobe_matrix_builder *b, const struct request *q, const uint64_t *entries,
                         size_t count, int64_t end_ms)
{
    struct strobe_json j = {.out = stdout, .one_line = 1};
    struct strobe_matrix_stack stack;
    char key[32] = "";
    uint32_t method;
    if (strobe_matrix_build(b, entries, count, true, end_ms, &stack, NULL) != STROBE_OK)
        return false;
    strobe_json_object(&j, NULL);
    print_items(&j, "stack", &stack, q->map);
    strobe_matrix_trim(q->contract, &stack, STROBE_MATRIX_TRIM);
    print_items(&j, "trimmed", &stack, q->map);
    int64_t cost = message_ms(entries, count, end_ms), longest = strobe_matrix_longest(&stack);
    if (cost < longest)
        cost = longest;
    if (strobe_matrix_key(q->contract, &stack, cost, &method))
        snprintf(key, sizeof key, "%u|", method);
    strobe_json_int(&j, "cost_ms", cost);
    strobe_json_text(&j, "key", key);
    strobe_json_object_end(&j);
    return true;
}

/* Prints a report for each message. */
static int report_messages(const struct request *q, struct strobe_matrix_builder *b)
{
    uint64_t *entries;
    size_t count, at = 0, begin;
    struct strobe_error error;
    strobe_output_begin();
    if (strobe_matrix_raw_read(q->path, &entries, &count, &error) != STROBE_OK)
        return strobe_complain("%s", error.text);
    int status = count ? STROBE_EXIT_OK : strobe_complain("%s: is empty, expected entries of Matrix's log", q->path);
    while (status == STROBE_EXIT_OK && strobe_matrix_next_message(entries, count, &at, &begin)) {
        if (!print_report(b, q, entries + begin, at - begin, STROBE_MATRIX_NO_END))
            status = strobe_complain("%s: not enough memory", q->path);
        else if (ferror(stdout))
            break;
    }
    free(entries);
    return status == STROBE_EXIT_OK ? strobe_output_end(status) : status;
}

/* Prints each line's report before it reads the next line. */
static int report_lines(const struct request *q, struct strobe_matrix_builder *b)
{
    bool is_stdin = !strcmp(q->path, "-");
    FILE *in = is_stdin ? stdin : fopen(q->path, "r");
    if (!in)
        return strobe_complain("%s: %s", q->path, strerror(errno));
    struct strobe_matrix_events events = {0};
    char *line = NULL;
    size_t room = 0, number = 0;
    int status = STROBE_EXIT_OK;
    strobe_output_begin();
    while (status == STROBE_EXIT_OK) {
        errno = 0;
        ssize_t bytes = getline(&line, &room, in);
        if (bytes < 0) {
            if (errno || ferror(in))
                status = strobe_complain("%s: %s", q->path, strerror(errno ? errno : EIO));
            else if (!number)
                status = strobe_complain("%s: is empty, expected streams of method events", q->path);
            break;
        }
        number++;
        size_t column;
        const char *expected;
        enum strobe_status parsed = strobe_matrix_events_parse(line, (size_t)bytes, &events, &column, &expected);
        if (parsed == STROBE_BAD_INPUT)
            status = strobe_complain("%s:%zu:%zu: expected %s", q->path, number, column, expected);
        else if (parsed != STROBE_OK || !print_report(b, q, events.entries, events.count, events.end_ms))
            status = strobe_complain("%s:%zu: not enough memory", q->path, number);
        else
            status = strobe_output_end(STROBE_EXIT_OK);
    }
    strobe_matrix_events_free(&events);
    free(line);
    if (!is_stdin)
        fclose(in);
    return status;
}

/* `kind` is its name; `options` ends with an entry without a name. */
static int import_matrix_log(int argc, char **argv, const char *kind, const struct option *options,
                             int (*report)(const struct request *q, struct strobe_matrix_builder *b))
{
    struct request q = {.contract = STROBE_MATRIX_DOCUMENTED};
    const char *mapping = NULL;
    struct strobe_error error;
    for (int c; (c = strobe_any_option(argc, argv, options)) != -1;) {
        switch (c) {
        case 'h': return strobe_print_usage(strobe_usage_import);
        case CONTRACT:
            if (strobe_matrix_contract_of(optarg, &q.contract) != STROBE_OK)
                return strobe_complain("import: --contract %s: expected documented or upstream", optarg);
            break;
        case MAPPING: mapping = optarg; break;
        default: return STROBE_EXIT_BAD;
        }
    }
    if (optind == argc)
        return strobe_complain("import: which file? strobe import %s FILE|-", kind);
    if (argc - optind > 1)
        return strobe_complain("import: one file at a time, not %s too", argv[optind + 1]);
    q.path = argv[optind];
    if (mapping && strobe_matrix_map_read(mapping, &q.map, &error) != STROBE_OK)
        return strobe_complain("%s", error.text);
    struct strobe_matrix_builder *b = strobe_matrix_builder_open(q.contract);
    int status = b ? report(&q, b) : strobe_complain("not enough memory");
    strobe_matrix_builder_close(b);
    strobe_matrix_map_close(q.map);
    return status;
}

int strobe_import_matrix_events(int argc, char **argv)
{
    static const struct option options[] = {
        {"contract", required_argument, NULL, CONTRACT},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    return import_matrix_log(argc, argv, "matrix-events", options, report_lines);
}

int strobe_import_matrix_log(int argc, char **argv)
{
    static const struct option options[] = {
        {"contract", required_argument, NULL, CONTRACT},
        {"mapping", required_argument, NULL, MAPPING},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    return import_matrix_log(argc, argv, "matrix-log", options, report_messages);
}

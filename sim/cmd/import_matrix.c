/* `strobe import matrix-events`: what Matrix's reports would say of streams of events. */
#include "engine/store/matrix_entry.h"
#include "engine/trace/json.h"
#include "engine/trace/matrix_events.h"
#include "engine/trace/matrix_stack.h"
#include "sim/cmd/cmd.h"
#include "sim/cmd/import.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTRACT = 256 };

struct request {
    const char *path;
    enum strobe_matrix_contract contract;
};

static void print_items(struct strobe_json *j, const char *key, const struct strobe_matrix_stack *stack)
{
    char line[128];
    strobe_json_array(j, key);
    for (size_t i = 0; i < stack->count; i++) {
        strobe_matrix_line(&stack->items[i], NULL, line, sizeof line);
        strobe_json_text(j, NULL, line);
    }
    strobe_json_array_end(j);
}

/* How long the message took: from its begin, or the first event if none begins, to the end. */
static int64_t message_ms(const uint64_t *entries, size_t count, int64_t end_ms)
{
    size_t first = 0;
    while (first < count && (!strobe_matrix_is_enter(entries[first]) ||
                             strobe_matrix_id(entries[first]) != STROBE_MATRIX_DISPATCH))
        first++;
    if (!count)
        return 0;
    int64_t begin = (int64_t)strobe_matrix_ms(entries[first < count ? first : 0]);
    int64_t end = end_ms == STROBE_MATRIX_NO_END ? (int64_t)strobe_matrix_ms(entries[count - 1]) : end_ms;
    return end > begin ? end - begin : 0;
}

/* Prints one report. False: out of memory. */
static bool print_report(struct strobe_matrix_builder *b, enum strobe_matrix_contract contract,
                         const uint64_t *entries, size_t count, int64_t end_ms)
{
    struct strobe_json j = { .out = stdout, .one_line = 1 };
    struct strobe_matrix_stack stack;
    char key[32] = "";
    uint32_t method;
    if (strobe_matrix_build(b, entries, count, true, end_ms, &stack, NULL) != STROBE_OK)
        return false;
    strobe_json_object(&j, NULL);
    print_items(&j, "stack", &stack);
    strobe_matrix_trim(contract, &stack, STROBE_MATRIX_TRIM);
    print_items(&j, "trimmed", &stack);
    int64_t cost = message_ms(entries, count, end_ms), longest = strobe_matrix_longest(&stack);
    if (cost < longest)
        cost = longest;
    if (strobe_matrix_key(contract, &stack, cost, &method))
        snprintf(key, sizeof key, "%u|", method);
    strobe_json_int(&j, "cost_ms", cost);
    strobe_json_text(&j, "key", key);
    strobe_json_object_end(&j);
    return true;
}

/* Each line's report is out before the next line is read. */
static int report_lines(FILE *in, const struct request *q, struct strobe_matrix_builder *b)
{
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
            break;
        }
        number++;
        size_t column;
        const char *expected;
        enum strobe_status parsed = strobe_matrix_events_parse(line, (size_t)bytes, &events, &column, &expected);
        if (parsed == STROBE_BAD_INPUT)
            status = strobe_complain("%s:%zu:%zu: expected %s", q->path, number, column, expected);
        else if (parsed != STROBE_OK || !print_report(b, q->contract, events.entries, events.count, events.end_ms))
            status = strobe_complain("%s:%zu: not enough memory", q->path, number);
        else
            status = strobe_output_end(STROBE_EXIT_OK);
    }
    strobe_matrix_events_free(&events);
    free(line);
    return status;
}

int strobe_import_matrix_events(int argc, char **argv)
{
    static const struct option options[] = {
        {"contract", required_argument, NULL, CONTRACT}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0},
    };
    struct request q = { .contract = STROBE_MATRIX_DOCUMENTED };
    for (int c; (c = strobe_any_option(argc, argv, options)) != -1;) {
        switch (c) {
        case 'h': return strobe_print_usage(strobe_usage_import);
        case CONTRACT:
            if (strobe_matrix_contract_of(optarg, &q.contract) != STROBE_OK)
                return strobe_complain("import: --contract %s: expected documented or upstream", optarg);
            break;
        default: return STROBE_EXIT_BAD;
        }
    }
    if (optind == argc)
        return strobe_complain("import: which file? strobe import matrix-events FILE|-");
    if (argc - optind > 1)
        return strobe_complain("import: one file at a time, not %s too", argv[optind + 1]);
    q.path = argv[optind];
    bool is_stdin = !strcmp(q.path, "-");
    FILE *in = is_stdin ? stdin : fopen(q.path, "r");
    if (!in)
        return strobe_complain("%s: %s", q.path, strerror(errno));
    struct strobe_matrix_builder *b = strobe_matrix_builder_open(q.contract);
    int status = b ? report_lines(in, &q, b) : strobe_complain("not enough memory");
    strobe_matrix_builder_close(b);
    if (!is_stdin)
        fclose(in);
    return status;
}

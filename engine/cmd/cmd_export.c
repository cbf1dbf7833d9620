#include "engine/base/error.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/interrupts.h"
#include "engine/cmd/report_findings.h"

#include "engine/trace/build/timeline.h"
#include "engine/trace/export/jsonl/sink_jsonl.h"
#include "engine/trace/session/session_set.h"
#include "engine/trace/symbols/symbols.h"
#include "engine/util/outfile.h"
#include "engine/util/text_pool.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char strobe_usage_export[] =
    "usage: strobe export --jsonl [OPTIONS] [--set KEY=VALUE]... CAPTURE...\n"
    "\n"
    "Writes any number of captures as JSON lines, for a data base that compares them: one JSON\n"
    "object a line, for each capture, slice, sample, blocking call, section and finding. A CAPTURE\n"
    "is a session, also an imported one, or a folder of sessions (from `record --follow`).\n"
    "engine/trace/README.md and strobe-export(1) describe the fields.\n"
    "\n"
    "  --jsonl            write JSON lines\n"
    "  -o, --output OUT   the file; `-` is standard output (default)\n"
    "  --set KEY=VALUE    a label of the captures that follow, such as app_version=1.2 or\n"
    "                     device=pixel: a field of each of their lines. KEY consists of a-z, 0-9\n"
    "                     and _\n"
    "  --only KIND,...    only lines of these kinds: capture, slice, sample, wait, section, finding\n"
    "  --inlines          show inlined functions as slices of their own\n"
    "  -f, --force        overwrite OUT\n"
    "  -q, --quiet        print no summary\n"
    "\n"
    "Exit status: 0 fine, 2 bad use or bad input.\n";

enum { JSONL = 256, SET, ONLY, EXPORT_INLINES };
enum { KEY_BYTES_MAX = 63, VALUE_BYTES_MAX = 255, KEYS_MAX = 32 };

/* Labels of each capture. Those after them are given by --set. */
enum { LABEL_CAPTURE, LABEL_PROCESS, LABEL_APP_VERSION, LABEL_DEVICE, LABELS_KNOWN };

/* A capture, or a label that later captures have. */
struct export_step {
    const char *path;
    size_t label;
    const char *value;
};

struct export_request {
    const char *output;
    bool jsonl, replace, quiet;
    unsigned kinds, symbols;
    struct export_step *steps; /* as many places as there are arguments */
    size_t step_count, captures;
    struct strobe_text_pool paths, keys;
    struct strobe_jsonl_label labels[LABELS_KNOWN + KEYS_MAX];
    size_t label_count;
    struct strobe_findings_options search;
    struct strobe_jsonl jsonl_out;
    uint64_t sessions;
};

/* ---- arguments */

/* Fields of lines, which a label may not be named after. */
static bool is_jsonl_field(const char *key, size_t bytes)
{
    static const char *const fields[] = {
        "kind",          "capture",       "process",     "pid",         "program",   "command",      "build_id",
        "begin_boot_ns", "begin_unix_ns", "duration_ns", "interval_ns", "threads",   "samples",      "lost",
        "closed",        "tid",           "thread",      "is_main",     "name",      "image",        "class",
        "depth",         "path",          "begin_ns",    "end_ns",      "self_ns",   "cpu_ns",       "self_cpu_ns",
        "unfinished",    "object",        "blocked",     "outcome",     "waker_tid", "waker_thread", "release_ns",
        "waker_path",    "count",         "incomplete",  "finding",     "cost_ns",   "scene",        "blame",
        "cause",         "unseen",        "numbers",     "stack",
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (strlen(fields[i]) == bytes && !memcmp(fields[i], key, bytes))
            return true;
    return false;
}

/* Returns the bytes of a valid key; 0 = it is not valid. */
static size_t label_key_bytes(const char *text)
{
    size_t bytes = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    bool valid = bytes && bytes <= KEY_BYTES_MAX && *text >= 'a' && text[bytes] == '=';
    return valid ? bytes : 0;
}

static bool is_label_value(const char *text)
{
    size_t bytes = 0;
    for (; text[bytes]; bytes++)
        if ((unsigned char)text[bytes] < ' ' || text[bytes] == 127)
            return false;
    return bytes && bytes <= VALUE_BYTES_MAX;
}

static int take_label(struct export_request *q, const char *text)
{
    size_t bytes = label_key_bytes(text);
    if (!bytes)
        return strobe_complain("export: --set %s: expected KEY=VALUE, KEY of a-z, 0-9 and _, beginning with a letter",
                               text);
    if (is_jsonl_field(text, bytes))
        return strobe_complain("export: --set %s: %.*s is a field of the lines; expected another key", text, (int)bytes,
                               text);
    if (!is_label_value(text + bytes + 1))
        return strobe_complain("export: --set %s: expected a value of 1 to %d bytes without control characters", text,
                               VALUE_BYTES_MAX);
    uint32_t number = strobe_text_number(&q->keys, text, bytes);
    if (number == UINT32_MAX)
        return strobe_complain("%s", strerror(ENOMEM));
    if (number >= KEYS_MAX)
        return strobe_complain("export: --set %s: more than %d keys", text, KEYS_MAX);
    size_t label = LABEL_APP_VERSION + number;
    q->labels[label].key = q->keys.texts[number];
    q->label_count = label >= q->label_count ? label + 1 : q->label_count;
    q->steps[q->step_count++] = (struct export_step){.label = label, .value = text + bytes + 1};
    return 0;
}

static int take_export_kinds(struct export_request *q, const char *text)
{
    q->kinds = 0;
    for (const char *at = text;; at++) {
        size_t bytes = strcspn(at, ","), i = 0;
        while (i < STROBE_JSONL_KINDS &&
               (strlen(strobe_jsonl_kind_name[i]) != bytes || memcmp(strobe_jsonl_kind_name[i], at, bytes) != 0))
            i++;
        if (i == STROBE_JSONL_KINDS)
            return strobe_complain(
                "export: --only %s: expected some of capture, slice, sample, wait, section and finding, with commas",
                text);
        q->kinds |= 1u << i;
        at += bytes;
        if (!*at)
            return 0;
    }
}

static int take_export_option(struct export_request *q, int c)
{
    switch (c) {
    case JSONL: q->jsonl = true; return 0;
    case SET: return take_label(q, optarg);
    case ONLY: return take_export_kinds(q, optarg);
    case EXPORT_INLINES: q->symbols |= STROBE_SYMBOLS_INLINES; return 0;
    case 'o': q->output = optarg; return 0;
    case 'f': q->replace = true; return 0;
    case 'q': q->quiet = true; return 0;
    default: return STROBE_EXIT_BAD;
    }
}

static int take_exported(struct export_request *q, const char *path)
{
    uint32_t number = strobe_text_number(&q->paths, path, strlen(path));
    if (number == UINT32_MAX)
        return strobe_complain("%s", strerror(ENOMEM));
    if (number < q->captures)
        return strobe_complain("export: %s: is given twice", path);
    q->captures++;
    q->steps[q->step_count++] = (struct export_step){.path = path};
    return 0;
}

static int check_export(const struct export_request *q)
{
    struct stat out, in;
    if (!q->jsonl)
        return strobe_complain("export: which format? strobe export --jsonl CAPTURE...");
    if (!q->captures)
        return strobe_complain("export: which captures? strobe export --jsonl CAPTURE...");
    if (!q->steps[q->step_count - 1].path)
        return strobe_complain("export: --set is for captures that follow it; expected a capture after the last one");
    bool exists = strcmp(q->output, "-") != 0 && stat(q->output, &out) == 0 && S_ISREG(out.st_mode);
    for (size_t i = 0; i < q->step_count && exists; i++)
        if (q->steps[i].path && stat(q->steps[i].path, &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return strobe_complain("%s: is also a capture; expected another file", q->output);
    return 0;
}

static int parse_export(struct export_request *q, int argc, char **argv)
{
    static const struct option options[] = {
        {"jsonl", no_argument, NULL, JSONL},
        {"output", required_argument, NULL, 'o'},
        {"set", required_argument, NULL, SET},
        {"only", required_argument, NULL, ONLY},
        {"inlines", no_argument, NULL, EXPORT_INLINES},
        {"force", no_argument, NULL, 'f'},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    for (;;) {
        int c = strobe_next_option(argc, argv, options);
        if (c == 'h')
            return -1;
        if (c == -1 && optind == argc)
            return check_export(q);
        int bad = c == -1 ? take_exported(q, argv[optind++]) : take_export_option(q, c);
        if (bad)
            return bad;
    }
}

/* ---- lines of the kinds capture and finding */

/* Returns the build id of the program's file in hexadecimal, or NULL. */
static const char *program_build_id(const struct strobe_reader *reader, char *text)
{
    for (uint32_t i = 0; i < reader->image_count; i++) {
        const struct strobe_image_entry *image = strobe_reader_image(reader, i);
        if (!image || !image->build_id_bytes || image->build_id_bytes > STROBE_BUILD_ID_BYTES ||
            strcmp(image->path, reader->session.header->exe) != 0)
            continue;
        for (uint32_t k = 0; k < image->build_id_bytes; k++)
            snprintf(text + (size_t)2 * k, 3, "%02x", image->build_id[k]);
        return text;
    }
    return NULL;
}

static void write_capture_line(struct strobe_jsonl *j, const struct strobe_reader *reader)
{
    const struct strobe_session_header *h = reader->session.header;
    uint64_t interval_ns = h->config.async_interval_ns ? h->config.async_interval_ns : h->config.interval_main_ns;
    char build_id[2 * STROBE_BUILD_ID_BYTES + 1];
    strobe_jsonl_begin(j, STROBE_JSONL_CAPTURE);
    strobe_jsonl_text(j, "program", h->exe[0] ? h->exe : NULL);
    strobe_jsonl_text(j, "command", h->command[0] ? h->command : NULL);
    strobe_jsonl_text(j, "build_id", program_build_id(reader, build_id));
    strobe_jsonl_number(j, "begin_boot_ns", j->begin_ns);
    if (h->begin.realtime_ns)
        strobe_jsonl_number(j, "begin_unix_ns", h->begin.realtime_ns);
    else
        strobe_jsonl_null(j, "begin_unix_ns");
    strobe_jsonl_number(j, "duration_ns", strobe_reader_span_ns(reader, reader->last_ticks - reader->first_ticks));
    strobe_jsonl_number(j, "interval_ns", interval_ns);
    strobe_jsonl_number(j, "threads", reader->thread_count);
    strobe_jsonl_number(j, "samples", reader->samples);
    strobe_jsonl_number(j, "lost", reader->dropped + reader->overwrote);
    strobe_jsonl_bool(j, "closed", reader->closed);
    strobe_jsonl_end(j);
}

static const char *text_or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static void write_finding_line(struct strobe_jsonl *j, const struct strobe_finding *f)
{
    strobe_jsonl_begin(j, STROBE_JSONL_FINDING);
    strobe_jsonl_text(j, "finding", strobe_finding_name[f->kind]);
    strobe_jsonl_time(j, "begin_ns", f->begin_ns);
    strobe_jsonl_time(j, "end_ns", f->end_ns);
    strobe_jsonl_number(j, "duration_ns", f->end_ns - f->begin_ns);
    strobe_jsonl_number(j, "cost_ns", strobe_finding_cost_ns(f));
    strobe_jsonl_text(j, "scene", text_or_null(f->scene));
    strobe_jsonl_text(j, "blame", text_or_null(f->blame));
    strobe_jsonl_text(j, "cause", text_or_null(f->key));
    strobe_jsonl_text(j, "unseen", text_or_null(f->unseen));
    strobe_jsonl_text(j, "stack", text_or_null(f->stack));
    strobe_jsonl_key(j, "numbers");
    strobe_outfile_text(j->out, "{");
    for (size_t i = 0; i < f->value_count; i++) {
        strobe_outfile_text(j->out, i ? ",\"" : "\"");
        strobe_outfile_json(j->out, f->values[i].key);
        strobe_outfile_text(j->out, "\":");
        strobe_jsonl_real(j, f->values[i].value);
    }
    strobe_outfile_text(j->out, "}");
    strobe_jsonl_end(j);
}

/* ---- sessions */

static int export_in_syscall(void *ctx, uint64_t return_address, struct strobe_symbol *out)
{
    return strobe_symbols_in_syscall(ctx, return_address, out);
}

static enum strobe_status write_slices(struct export_request *q, const struct strobe_reader *reader,
                                       struct strobe_function_tree *tree)
{
    const struct strobe_timeline_options how = {.no_samples = !(q->kinds & STROBE_JSONL_SAMPLE)};
    struct strobe_sink *sink = strobe_sink_jsonl(&q->jsonl_out, q->kinds);
    return sink ? strobe_timeline_build(reader, tree, &how, sink, NULL) : STROBE_IO;
}

static enum strobe_status write_findings(struct export_request *q, const struct strobe_reader *reader,
                                         struct strobe_function_tree *tree)
{
    struct strobe_findings *found;
    enum strobe_status status = strobe_findings_of_reader(reader, tree, &q->search, &found);
    if (status != STROBE_OK)
        return status;
    for (size_t i = 0; i < found->count; i++)
        write_finding_line(&q->jsonl_out, &found->at[i]);
    strobe_findings_close(found);
    return STROBE_OK;
}

/* Writes all lines of a session. STROBE_IO: out of memory. */
static enum strobe_status write_session_lines(struct export_request *q, const struct strobe_reader *reader)
{
    const unsigned of_timeline = STROBE_JSONL_SLICE | STROBE_JSONL_SAMPLE | STROBE_JSONL_WAIT | STROBE_JSONL_SECTION;
    struct strobe_symbols *symbols = NULL;
    struct strobe_function_tree *tree = NULL;
    if (q->kinds & STROBE_JSONL_CAPTURE)
        write_capture_line(&q->jsonl_out, reader);
    if (!(q->kinds & ~(unsigned)STROBE_JSONL_CAPTURE))
        return STROBE_OK;
    enum strobe_status status = strobe_symbols_open(&reader->session, q->symbols | STROBE_SYMBOLS_NO_LINES, &symbols);
    if (status == STROBE_OK)
        status = strobe_function_tree_open(&reader->session.stacks, strobe_symbols_resolver(symbols), &tree);
    if (status == STROBE_OK) {
        strobe_function_tree_show_syscalls(tree, export_in_syscall);
        if (q->kinds & of_timeline)
            status = write_slices(q, reader, tree);
        if (status == STROBE_OK && q->kinds & STROBE_JSONL_FINDING)
            status = write_findings(q, reader, tree);
        if (status == STROBE_OK)
            status = strobe_function_tree_status(tree);
    }
    strobe_function_tree_close(tree);
    strobe_symbols_close(symbols);
    return status;
}

static int export_session(struct export_request *q, const char *path)
{
    struct strobe_reader *reader;
    struct strobe_error error = {""};
    char process[STROBE_PATH_BYTES];
    size_t bytes;
    enum strobe_status status = strobe_reader_open(path, &reader, &error);
    if (status != STROBE_OK)
        return strobe_complain("%s: %s", path, error.text[0] ? error.text : strobe_status_text(status));
    const char *name = strobe_sink_process_name(reader->session.header, &bytes);
    snprintf(process, sizeof process, "%.*s", (int)bytes, name);
    q->labels[LABEL_CAPTURE].value = path;
    q->labels[LABEL_PROCESS].value = process;
    q->jsonl_out.pid = reader->session.header->pid;
    q->jsonl_out.begin_ns = strobe_reader_ns(reader, reader->first_ticks);
    q->sessions++;
    status = write_session_lines(q, reader);
    strobe_reader_close(reader);
    return status == STROBE_OK ? 0 : strobe_complain("%s: not enough memory", path);
}

static int export_path(struct export_request *q, const char *path)
{
    struct strobe_session_set set;
    enum strobe_status status = strobe_session_set_list(path, &set);
    if (status != STROBE_OK)
        return strobe_complain("%s: %s", path,
                               status == STROBE_NO_ENTRY ? "a folder without sessions" : strerror(errno));
    int bad = 0;
    for (size_t i = 0; i < set.count && !bad; i++)
        bad = export_session(q, set.paths[i]);
    strobe_session_set_free(&set);
    return bad;
}

static int export_steps(struct export_request *q)
{
    for (size_t i = 0; i < q->step_count; i++) {
        const struct export_step *step = &q->steps[i];
        if (!step->path)
            q->labels[step->label].value = step->value;
        int bad = step->path ? export_path(q, step->path) : 0;
        if (bad)
            return bad;
        if (q->jsonl_out.out->status != STROBE_OK) /* a full disk, or the reader of a pipe has ended */
            return 0;
    }
    return 0;
}

static int write_export(struct export_request *q)
{
    struct strobe_outfile out;
    strobe_output_begin();
    strobe_interrupts_clean(0);
    enum strobe_status status = strobe_outfile_open(&out, q->output, q->replace);
    if (status == STROBE_EXISTS)
        return strobe_complain("%s: exists already; --force overwrites it", q->output);
    if (status != STROBE_OK)
        return strobe_complain("%s: %s", q->output, strerror(errno));
    q->jsonl_out = (struct strobe_jsonl){.out = &out, .labels = q->labels, .label_count = q->label_count};
    int bad = export_steps(q);
    uint64_t bytes = out.bytes + out.used;
    status = strobe_outfile_finish(&out, bad);
    if (bad)
        return bad;
    if (status != STROBE_OK && errno == EPIPE)
        return strobe_end_of_pipe();
    if (status != STROBE_OK)
        return strobe_complain("%s: %s", q->output, strerror(errno));
    if (!q->quiet && isatty(STDERR_FILENO)) /* messages of success appear on a terminal only */
        fprintf(stderr, "%s: %" PRIu64 " sessions, %.1f MB\n", strcmp(q->output, "-") ? q->output : "standard output",
                q->sessions, (double)bytes / 1e6);
    return STROBE_EXIT_OK;
}

int strobe_cmd_export(int argc, char **argv)
{
    struct export_request q = {.output = "-",
                               .kinds = STROBE_JSONL_ALL,
                               .labels = {[LABEL_CAPTURE] = {"capture", NULL}, [LABEL_PROCESS] = {"process", NULL}},
                               .label_count = LABELS_KNOWN,
                               .steps = calloc((size_t)argc + 1, sizeof *q.steps)};
    strobe_report_findings_defaults(&q.search);
    static const char version[] = "app_version", device[] = "device";
    if (!q.steps || strobe_text_number(&q.keys, version, strlen(version)) != 0 ||
        strobe_text_number(&q.keys, device, strlen(device)) != 1) {
        free(q.steps);
        strobe_text_pool_free(&q.keys);
        return strobe_complain("%s", strerror(ENOMEM));
    }
    q.labels[LABEL_APP_VERSION].key = version;
    q.labels[LABEL_DEVICE].key = device;
    int status = parse_export(&q, argc, argv);
    status = status == -1 ? strobe_print_usage(strobe_usage_export) : status ? status : write_export(&q);
    strobe_text_pool_free(&q.paths);
    strobe_text_pool_free(&q.keys);
    free(q.steps);
    return status;
}

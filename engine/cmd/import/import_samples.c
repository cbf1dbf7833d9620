#include "engine/cmd/import/import_samples.h"
#include "engine/base/error.h"

#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/import/import.h"

#include "engine/store/session.h"
#include "engine/trace/export/convert.h"
#include "engine/util/outfile.h"
#include "engine/util/whole_file.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int strobe_import_samples_option(struct strobe_import_samples *q, int c)
{
    switch (c) {
    case 'o': q->output = optarg; return 0;
    case 'f': q->replace = 1; return 0;
    case 'q': q->quiet = 1; return 0;
    case IMPORT_SAMPLES_FORMAT: q->format = optarg; return 0;
    case IMPORT_SAMPLES_DEFLATE: q->deflate = 1; return 0;
    case IMPORT_SAMPLES_INTERVAL:
        if (!strobe_parse_time(optarg, &q->interval_ns) || !q->interval_ns)
            return strobe_complain("import: --interval %s: expected a time such as 1ms", optarg);
        return 0;
    default: return STROBE_EXIT_BAD;
    }
}

int strobe_import_samples_pid(uint32_t *pid)
{
    uint64_t number;
    if (!strobe_parse_number(optarg, UINT32_MAX - 1, &number) || !number)
        return strobe_complain("import: --pid %s: expected the number of a process", optarg);
    *pid = (uint32_t)number;
    return 0;
}

static int choose_samples_format(struct strobe_import_samples *q)
{
    static const char ending[] = ".strobe";
    size_t bytes = strlen(q->output), n = sizeof ending - 1;
    q->session = q->format ? !strcmp(q->format, "session") : bytes > n && !strcmp(q->output + bytes - n, ending);
    if (q->session)
        return 0;
    if (!q->format)
        return strobe_choose_by_ending(q->output, ", .strobe (session)", "--format FORMAT forces one", &q->trace);
    return strobe_format_of(q->format, &q->trace) == STROBE_OK
               ? 0
               : strobe_complain("import: --format %s: expected perfetto, chrome, speedscope, folded or session",
                                 q->format);
}

static bool is_one_file(const char *a, const char *b)
{
    struct stat x, y;
    return a && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
           S_ISREG(x.st_mode);
}

int strobe_import_samples_arguments(struct strobe_import_samples *q, int most, int argc, char **argv)
{
    const char *files = most > 1 ? "FILE [MAPPING]" : "FILE|-";
    if (optind == argc)
        return strobe_complain("import: which file? strobe import %s %s -o OUT", q->kind, files);
    if (argc - optind > most)
        return strobe_complain("import: one file at a time, not %s too", argv[optind + most]);
    q->input = argv[optind];
    q->second = argc - optind > 1 ? argv[optind + 1] : NULL;
    if (!q->output)
        return strobe_complain("import: where to? strobe import %s %s -o OUT", q->kind, files);
    if (is_one_file(q->input, q->output) || is_one_file(q->second, q->output))
        return strobe_complain("%s: is also the input; expected another file", q->output);
    int bad = choose_samples_format(q);
    if (!bad && q->deflate && (q->session || q->trace != STROBE_FORMAT_PERFETTO))
        bad = strobe_complain("import: --deflate is for the perfetto format");
    return bad;
}

void strobe_import_samples_count(const struct strobe_import_samples *q, uint64_t count, const char *what)
{
    if (count && !q->quiet)
        fprintf(stderr, "%s: %s: %" PRIu64 "\n", q->input, what, count);
}

/* Copies the session to its file. */
static enum strobe_status copy_session(const struct strobe_import_samples *q, const char *made, uint64_t *bytes)
{
    struct strobe_whole_file file;
    struct strobe_outfile out;
    enum strobe_status status = strobe_outfile_open(&out, q->output, q->replace);
    if (status != STROBE_OK)
        return status;
    status = strobe_whole_file_open(made, &file);
    int error = errno;
    if (status == STROBE_OK) {
        strobe_outfile_write(&out, file.at, file.bytes);
        *bytes = file.bytes;
        strobe_whole_file_close(&file);
    }
    enum strobe_status written = strobe_outfile_finish(&out, status != STROBE_OK);
    if (status != STROBE_OK)
        errno = error;
    if (status == STROBE_OK && written == STROBE_OK && strcmp(q->output, "-"))
        strobe_session_trim_closed(q->output); /* a copy has blocks of zeros; the file system may keep them */
    return status == STROBE_OK ? written : status;
}

static int write_samples(const struct strobe_import_samples *q, const char *made, uint64_t *bytes)
{
    struct strobe_convert_options options = {.format = q->trace, .deflate = q->deflate, .replace = q->replace};
    struct strobe_convert_stats stats = {0};
    struct strobe_error error = {""};
    strobe_output_begin();
    enum strobe_status status =
        q->session ? copy_session(q, made, bytes) : strobe_convert(made, q->output, &options, &stats, &error);
    if (!q->session)
        *bytes = stats.bytes;
    if (status == STROBE_EXISTS)
        return strobe_complain("%s: exists already; --force overwrites it", q->output);
    if (status != STROBE_OK && errno == EPIPE)
        return strobe_end_of_pipe();
    if (status != STROBE_OK && error.text[0])
        return strobe_complain("%s", error.text);
    return status == STROBE_OK ? STROBE_EXIT_OK : strobe_complain("%s: %s", q->output, strerror(errno));
}

int strobe_import_samples_refuse(const struct strobe_import_samples *q, enum strobe_status status,
                                 const struct strobe_error *error)
{
    return strobe_complain("%s: %s", q->input, status == STROBE_IO ? "not enough memory" : error->text);
}

int strobe_import_samples_write(const struct strobe_import_samples *q, struct strobe_sampled *sampled)
{
    uint64_t samples = strobe_sampled_count(sampled), bytes = 0;
    char made[64];
    int fd;
    if (q->interval_ns)
        strobe_sampled_interval(sampled, q->interval_ns, 0);
    enum strobe_status status = strobe_sampled_make(sampled, &fd);
    if (status == STROBE_FULL)
        return strobe_complain("%s: more samples, stacks, names or threads than a session holds", q->input);
    if (status != STROBE_OK)
        return strobe_complain("%s: the session cannot be made: %s", q->input, strerror(errno));
    if (!samples) {
        close(fd);
        return strobe_complain("%s: contains no sample: there is nothing to write", q->input);
    }
    snprintf(made, sizeof made, "/proc/self/fd/%d", fd);
    int exit_status = write_samples(q, made, &bytes);
    close(fd);
    if (exit_status == STROBE_EXIT_OK && !q->quiet && isatty(STDERR_FILENO)) /* on a terminal only */
        fprintf(stderr, "%s: %" PRIu64 " samples of %" PRIu64 " threads, %.1f MB\n",
                strcmp(q->output, "-") ? q->output : "standard output", samples, strobe_sampled_threads(sampled),
                (double)bytes / 1e6);
    return exit_status;
}

static int import_samples_file(const struct strobe_import_samples_kind *kind, struct strobe_import_samples *q,
                               const struct strobe_whole_file *file, struct strobe_sampled *sampled)
{
    struct strobe_error error = {""};
    enum strobe_status status = kind->read(q, file, sampled, &error);
    if (status != STROBE_OK)
        return strobe_import_samples_refuse(q, status, &error);
    int exit_status = strobe_import_samples_write(q, sampled);
    if (exit_status == STROBE_EXIT_OK)
        kind->print_stats(q);
    return exit_status;
}

static int import_samples(const struct strobe_import_samples_kind *kind, struct strobe_import_samples *q)
{
    struct strobe_whole_file file;
    struct strobe_sampled *sampled;
    if (strobe_whole_file_open(q->input, &file) != STROBE_OK)
        return strobe_complain("%s: %s", q->input, strerror(errno));
    int exit_status = strobe_sampled_open(&sampled) == STROBE_OK ? import_samples_file(kind, q, &file, sampled)
                                                                 : strobe_complain("%s: not enough memory", q->input);
    strobe_sampled_close(sampled);
    strobe_whole_file_close(&file);
    return exit_status;
}

int strobe_import_samples_run(const struct strobe_import_samples_kind *kind, struct strobe_import_samples *q, int argc,
                              char **argv)
{
    for (int c; (c = strobe_any_option(argc, argv, kind->options)) != -1;) {
        if (c == 'h')
            return strobe_print_usage(strobe_usage_import);
        int bad = kind->take_option ? kind->take_option(q, c) : strobe_import_samples_option(q, c);
        if (bad)
            return bad;
    }
    int bad = strobe_import_samples_arguments(q, 1, argc, argv);
    return bad ? bad : import_samples(kind, q);
}

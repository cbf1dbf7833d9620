/* `strobe import btrace3`: captures of btrace 3.0 on Android. */
#include "engine/base/error.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/import/import.h"
#include "engine/cmd/import/import_samples.h"

#include "engine/trace/import/btrace3/btrace3_read.h"
#include "engine/util/whole_file.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_INTERVAL_NS = 1000000 };

static void print_btrace3_stats(const struct strobe_import_samples *q, const struct strobe_btrace3_stats *s)
{
    char damaged[80];
    snprintf(damaged, sizeof damaged, "damaged records, left out, the first at byte %" PRIu64, s->first_damaged);
    strobe_import_samples_count(q, s->damaged, damaged);
    strobe_import_samples_count(q, s->skipped_bytes, "bytes of damaged records");
    strobe_import_samples_count(q, s->tail_bytes, "bytes at the end that are no complete record, left out");
    strobe_import_samples_count(q, s->mapping_tail, "bytes at the end of the mapping that are no complete entry");
    strobe_import_samples_count(q, s->empty, "points without a stack or a valid time, left out");
    strobe_import_samples_count(q, s->backwards, "records that end before they begin, shown as points");
    strobe_import_samples_count(q, s->cut, "stacks whose outermost frames were not stored");
    strobe_import_samples_count(q, s->releases_lost, "releases whose wait is not in the capture");
    strobe_import_samples_count(q, s->nameless,
                                s->nameless * 2 > s->methods
                                    ? "methods without a name, more than half (is the mapping this capture's?)"
                                    : "methods without a name");
}

/* Returns the name of the mapping: the second file, or the one beside the first, or NULL. */
static const char *find_btrace3_mapping(const struct strobe_import_samples *q, char *path, size_t bytes)
{
    if (q->second || !strcmp(q->input, "-"))
        return q->second;
    if (snprintf(path, bytes, "%s-mapping", q->input) >= (int)bytes || access(path, F_OK) != 0)
        return NULL;
    return path;
}

static int import_btrace3_files(const struct strobe_import_samples *q, const struct strobe_btrace3_files *files,
                                const char *mapping)
{
    struct strobe_sampled *sampled;
    struct strobe_btrace3_stats stats;
    struct strobe_error error = {""};
    bool of_mapping = false;
    if (strobe_sampled_open(&sampled) != STROBE_OK)
        return strobe_complain("%s: not enough memory", q->input);
    strobe_sampled_interval(sampled, DEFAULT_INTERVAL_NS, 0);
    enum strobe_status status = strobe_btrace3_read(files, sampled, &stats, &of_mapping, &error);
    int exit_status;
    if (status != STROBE_OK && status != STROBE_IO && of_mapping)
        exit_status = strobe_complain("%s: %s", mapping, error.text);
    else if (status != STROBE_OK)
        exit_status = strobe_import_samples_refuse(q, status, &error);
    else
        exit_status = strobe_import_samples_write(q, sampled);
    if (exit_status == STROBE_EXIT_OK)
        print_btrace3_stats(q, &stats);
    strobe_sampled_close(sampled);
    return exit_status;
}

static int import_btrace3(const struct strobe_import_samples *q)
{
    struct strobe_whole_file sampling, mapping = {.at = NULL};
    char path[PATH_MAX];
    const char *mapping_path = find_btrace3_mapping(q, path, sizeof path);
    if (strobe_whole_file_open(q->input, &sampling) != STROBE_OK)
        return strobe_complain("%s: %s", q->input, strerror(errno));
    if (mapping_path && strobe_whole_file_open(mapping_path, &mapping) != STROBE_OK) {
        int bad = strobe_complain("%s: %s", mapping_path, strerror(errno));
        strobe_whole_file_close(&sampling);
        return bad;
    }
    struct strobe_btrace3_files files = {sampling.at, mapping_path ? mapping.at : NULL, sampling.bytes, mapping.bytes};
    int exit_status = import_btrace3_files(q, &files, mapping_path);
    strobe_whole_file_close(&sampling);
    if (mapping_path)
        strobe_whole_file_close(&mapping);
    return exit_status;
}

int strobe_import_btrace3(int argc, char **argv)
{
    static const struct option table[] = {STROBE_IMPORT_SAMPLES_OPTIONS, {NULL, 0, NULL, 0}};
    struct strobe_import_samples q = {.kind = "btrace3"};
    for (int c; (c = strobe_any_option(argc, argv, table)) != -1;) {
        if (c == 'h')
            return strobe_print_usage(strobe_usage_import);
        int bad = strobe_import_samples_option(&q, c);
        if (bad)
            return bad;
    }
    int bad = strobe_import_samples_arguments(&q, 2, argc, argv);
    return bad ? bad : import_btrace3(&q);
}

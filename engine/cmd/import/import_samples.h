/* Shared parts of the kinds of `strobe import` that read samples. They make a session of them, or a trace of that
 * session. */
#ifndef STROBE_CMD_IMPORT_IMPORT_SAMPLES_H
#define STROBE_CMD_IMPORT_IMPORT_SAMPLES_H

#include "engine/base/error.h"
#include "engine/include/strobe/trace.h"
#include "engine/trace/import/samples_store.h"
#include "engine/util/whole_file.h"

#include <getopt.h>

#include <stdbool.h>
#include <stdint.h>

struct strobe_import_samples {
    const char *kind, *input, *output, *format;
    const char *second;   /* the second file; NULL = none */
    uint64_t interval_ns; /* --interval; 0 = not given */
    enum strobe_format trace;
    bool session; /* the output is a session, not a trace */
    int deflate, replace, quiet;
};

/* Values of the shared options in a getopt table. Each kind's own options have values from IMPORT_SAMPLES_OWN on. */
enum { IMPORT_SAMPLES_FORMAT = 256, IMPORT_SAMPLES_DEFLATE, IMPORT_SAMPLES_INTERVAL, IMPORT_SAMPLES_OWN };
#define STROBE_IMPORT_SAMPLES_OPTIONS                                                                                  \
    {"output", required_argument, NULL, 'o'}, {"format", required_argument, NULL, IMPORT_SAMPLES_FORMAT},              \
        {"deflate", no_argument, NULL, IMPORT_SAMPLES_DEFLATE}, {"force", no_argument, NULL, 'f'},                     \
        {"interval", required_argument, NULL, IMPORT_SAMPLES_INTERVAL}, {"quiet", no_argument, NULL, 'q'},             \
    {                                                                                                                  \
        "help", no_argument, NULL, 'h'                                                                                 \
    }

/* Handles a shared option. Returns 0, or the exit status after a complaint. */
int strobe_import_samples_option(struct strobe_import_samples *q, int c);

/* Takes the names of `most` files at most, the first of which must be there, and checks the other arguments. */
int strobe_import_samples_arguments(struct strobe_import_samples *q, int most, int argc, char **argv);

/* Prints a count to standard error as `INPUT: what: N`, unless it is 0 or --quiet is given. */
void strobe_import_samples_count(const struct strobe_import_samples *q, uint64_t count, const char *what);

/* Takes the number of a process for an option --pid. Returns 0, or the exit status after a complaint. */
int strobe_import_samples_pid(uint32_t *pid);

/* Reports what `status` of a reader means for the input. Returns the exit status. */
int strobe_import_samples_refuse(const struct strobe_import_samples *q, enum strobe_status status,
                                 const struct strobe_error *error);

/* Writes the session or the trace. Returns the exit status. */
int strobe_import_samples_write(const struct strobe_import_samples *q, struct strobe_sampled *sampled);

/* A kind that reads one file. Its request is a struct whose first member is the struct strobe_import_samples that the
 * functions get. */
struct strobe_import_samples_kind {
    const struct option *options;
    int (*take_option)(struct strobe_import_samples *q, int c); /* NULL: strobe_import_samples_option */
    /* Reads the file and keeps its counts in the request. Errors: STROBE_IO is a lack of memory; of others `error` has
     * the text. */
    enum strobe_status (*read)(struct strobe_import_samples *q, const struct strobe_whole_file *file,
                               struct strobe_sampled *sampled, struct strobe_error *error);
    void (*print_stats)(const struct strobe_import_samples *q);
};

/* Does the whole import: takes the arguments, reads the file, writes the output, prints the counts. Returns the exit
 * status. */
int strobe_import_samples_run(const struct strobe_import_samples_kind *kind, struct strobe_import_samples *q, int argc,
                              char **argv);

#endif

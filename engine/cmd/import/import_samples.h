/* Shared parts of the kinds of `strobe import` that read samples. They make a session of them, or a trace of that
 * session. */
#ifndef STROBE_CMD_IMPORT_IMPORT_SAMPLES_H
#define STROBE_CMD_IMPORT_IMPORT_SAMPLES_H

#include "engine/include/strobe/trace.h"
#include "engine/trace/import/samples_store.h"

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

/* Writes the session or the trace. Returns the exit status. */
int strobe_import_samples_write(const struct strobe_import_samples *q, struct strobe_sampled *sampled);

#endif

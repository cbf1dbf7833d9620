/* Shared parts of the kinds of `strobe import` that read calls and make traces from them. */
#ifndef STROBE_CMD_IMPORT_IMPORT_CALLS_H
#define STROBE_CMD_IMPORT_IMPORT_CALLS_H

#include "engine/trace/export/calls_convert.h"
#include "engine/trace/model/calls_repair.h"

#include <stdint.h>

struct strobe_import_calls {
    const char *input, *output, *format;
    struct strobe_calls_convert_options options;
    enum strobe_repair repair;
    int quiet;
};

/* Values of the shared options in a getopt table. Each kind's own options have values from IMPORT_OWN on. */
enum { IMPORT_FORMAT = 256, IMPORT_REPAIR, IMPORT_DEFLATE, IMPORT_OWN };
#define STROBE_IMPORT_CALLS_OPTIONS                                                                                    \
    {"output", required_argument, NULL, 'o'}, {"format", required_argument, NULL, IMPORT_FORMAT},                      \
        {"repair", required_argument, NULL, IMPORT_REPAIR}, {"deflate", no_argument, NULL, IMPORT_DEFLATE},            \
        {"force", no_argument, NULL, 'f'}, {"replace", no_argument, NULL, 'f'}, {"quiet", no_argument, NULL, 'q'},     \
    {                                                                                                                  \
        "help", no_argument, NULL, 'h'                                                                                 \
    }

/* Handles a shared option. Returns 0, or the exit status after a complaint. */
int strobe_import_calls_option(struct strobe_import_calls *q, int c);

/* Takes the file name, and checks that all required arguments are there. */
int strobe_import_calls_arguments(struct strobe_import_calls *q, const char *kind, int argc, char **argv);

/* Prints a count to standard error as `INPUT: what: N`, unless it is 0 or --quiet is given. */
void strobe_import_calls_count(const struct strobe_import_calls *q, uint64_t count, const char *what);

/* Repairs the calls, writes them, and prints what was repaired. Returns the exit status. `orphans`: ends without a
 * begin that the reader has skipped. */
int strobe_import_calls_write(const struct strobe_import_calls *q, struct strobe_calls *calls, uint64_t orphans);

#endif

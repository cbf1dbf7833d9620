/* The parts of `strobe record`: what to run, how it is traced, running it. */
#ifndef STROBE_SIM_CMD_RECORD_H
#define STROBE_SIM_CMD_RECORD_H

#include "engine/store/session.h"
#include "engine/trace/convert.h"

#include <limits.h>
#include <stdbool.h>

struct strobe_record_options {
    struct strobe_config config;
    bool unwind_auto;
    bool convert;              /* make a trace when the program has ended */
    bool replace;              /* overwrite files that are there */
    bool quiet;
    bool method, samples;      /* calls are recorded; samples are, beside them */
    uint32_t call_log_bytes;
    bool deflate;
    enum strobe_format format; /* of the trace, as its name says */
    char trace[PATH_MAX];      /* "" when not converting */
    char session[PATH_MAX];
};

/* Reads the options before the command; *first is the index of the command in argv. Returns 0, or the exit status to
 * end with after a complaint. */
int strobe_record_parse(int argc, char **argv, struct strobe_record_options *out, int *first);

/* Fills in the file names that were not given, from the command's name. Returns 0 or an exit status. */
int strobe_record_name_files(struct strobe_record_options *options, const char *output, const char *command);

/* Finds the program that `command` names and checks that it can be preloaded, through its interpreters when it is a
 * script. *has_frame_pointers tells of the program that will run. Returns 0, or STROBE_EXIT_BAD after a complaint. */
int strobe_record_find_program(const char *command, char *path, size_t path_bytes, bool *has_frame_pointers);

/* Runs argv with the library preloaded into it, waits for it to end, and stores the wait status. SIGINT and SIGQUIT are
 * left to the program; SIGTERM and SIGHUP are passed on. Returns 0, or STROBE_EXIT_BAD after a complaint when it
 * could not be run at all. */
int strobe_record_run(const char *path, char **argv, const char *session, int *wait_status);

/* Ends as the program ended: returns its exit status, or dies by the same signal. */
int strobe_record_end_as(int wait_status);

#endif

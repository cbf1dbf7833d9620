/* The parts of `strobe record`: what to run, how it is traced, running it. */
#ifndef STROBE_CMD_RECORD_H
#define STROBE_CMD_RECORD_H

#include "engine/store/session.h"
#include "engine/trace/export/convert.h"
#include "engine/trace/session/session_set.h"

#include <limits.h>
#include <stdbool.h>

struct strobe_record_options {
    struct strobe_config config;
    bool convert; /* make a trace when the program has ended */
    bool replace; /* overwrite files that are there */
    bool quiet;
    bool method, samples; /* calls are recorded; samples are, beside them */
    uint32_t call_log_bytes;
    bool deflate;
    enum strobe_format format; /* of the trace, as its name says */
    char trace[PATH_MAX];      /* "" when not converting */
    char session[PATH_MAX];    /* the session's file; with config.follow the folder of all of them */
    char only[NAME_MAX + 1];   /* programs to follow, as --follow has them; "" = all */
};

/* Reads the options before the command; *first is the index of the command in argv. Returns 0, or the exit status to
 * end with after a complaint. */
int strobe_record_parse(int argc, char **argv, struct strobe_record_options *out, int *first);

/* Fills in the file names that were not given, from the command's name. Returns 0 or an exit status. */
int strobe_record_name_files(struct strobe_record_options *options, const char *output, const char *command);

/* Finds the program that `command` names and checks that it can be preloaded, through its interpreters when it is a
 * script. Returns 0, or STROBE_EXIT_BAD after a complaint. */
int strobe_record_find_program(const char *command, char *path, size_t path_bytes);

/* Creates the session that the program is to attach to, and the folder around it with config.follow; its absolute path
 * goes to path[PATH_MAX]. Sessions that an earlier recording left there are removed when options->replace says so.
 * Returns 0, or STROBE_EXIT_BAD after a complaint. */
int strobe_record_create(const struct strobe_record_options *options, char **argv, char *path);

/* Removes what strobe_record_create has made: the program could not be run. */
void strobe_record_discard(const struct strobe_record_options *options, const char *path);

/* Lists the sessions that the recording has left, and gives back the blocks that they did not need. Returns 0, or
 * STROBE_EXIT_BAD after a complaint. */
int strobe_record_list(const struct strobe_record_options *options, const char *first, struct strobe_session_set *out);

/* Says in the last of the sessions of the process that was waited for how that process ended, unless it has closed its
 * session itself. */
void strobe_record_note_end(const struct strobe_session_set *sessions, const char *first, int wait_status);

/* Runs argv with the library preloaded into it, waits for it to end, and stores the wait status. SIGINT, SIGQUIT,
 * SIGTERM and SIGHUP from the terminal are left to the program, which gets them, too; others are passed on. Another one
 * half a second later kills it. From its end on they end this process, see interrupts.h. Returns 0, or
 * STROBE_EXIT_BAD after a complaint when it could not be run at all. `only`: programs to follow; "" = all. */
int strobe_record_run(const char *path, char **argv, const char *session, const char *only, int *wait_status);

/* Ends as the program ended: returns its exit status, or dies by the same signal. */
int strobe_record_end_as(int wait_status);

#endif

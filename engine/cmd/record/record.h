/* The parts of `strobe record`: options, the program to run, its sessions, the run. */
#ifndef STROBE_CMD_RECORD_RECORD_H
#define STROBE_CMD_RECORD_RECORD_H

#include "engine/cmd/record/sched_recorder.h"
#include "engine/control/socket.h"
#include "engine/store/session.h"
#include "engine/trace/export/convert.h"
#include "engine/trace/session/session_set.h"

#include <limits.h>
#include <stdbool.h>

struct strobe_record_options {
    struct strobe_config config;
    bool convert; /* make a trace when the program has ended */
    bool replace; /* overwrite existing files */
    bool quiet;
    bool attached;        /* the program was running already: `strobe attach` */
    bool method, samples; /* record calls; also take samples */
    uint32_t call_log_bytes;
    bool deflate;
    enum strobe_format format;               /* of the trace, by its file name */
    char trace[PATH_MAX];                    /* "" when not converting */
    char session[PATH_MAX];                  /* session file; with config.follow, the directory of all session files */
    char only[NAME_MAX + 1];                 /* programs to follow, as --follow names them; "" = all */
    char control[STROBE_CONTROL_NAME_BYTES]; /* name of the control server, maybe with {pid}; "" = no server */
    uint64_t duration_ns;                    /* the program is ended after this time; 0 = it is not */
    bool wants_sched;                        /* record scheduling */
    struct strobe_sched_recorder *sched;     /* the recording of scheduling; NULL = there is none */
};

/* Parses the options before the command; *first is the index of the command in argv. Returns 0, or the exit status
 * after a complaint. */
int strobe_record_parse(int argc, char **argv, struct strobe_record_options *out, int *first);

/* Fills in the missing file names, from the command's name. Returns 0 or an exit status. */
int strobe_record_name_files(struct strobe_record_options *options, const char *output, const char *command);

/* Finds the program that `command` names, and checks that the engine can be preloaded into it. For a script it checks
 * the interpreters. Returns 0, or STROBE_EXIT_BAD after a complaint. */
int strobe_record_find_program(const char *command, char *path, size_t path_bytes);

/* Creates the session for the program, and with config.follow its directory. path[PATH_MAX] receives the absolute path.
 * With options->replace, it removes sessions of an earlier recording there. Returns 0, or STROBE_EXIT_BAD after a
 * complaint. */
int strobe_record_create(const struct strobe_record_options *options, char **argv, char *path);

/* Removes what strobe_record_create has made, because the program could not be run. */
void strobe_record_discard(const struct strobe_record_options *options, const char *path);

/* Lists the sessions of the recording, and frees file blocks that they do not use. Returns 0, or STROBE_EXIT_BAD after
 * a complaint. */
int strobe_record_list(const struct strobe_record_options *options, const char *first, struct strobe_session_set *out);

/* Makes the trace of a recording of `program`, and reports what the recording has missed. Returns 0, or STROBE_EXIT_BAD
 * after a complaint. */
int strobe_record_keep(const struct strobe_record_options *options, const char *program, const char *session,
                       int wait_status);

/* Stores how the process ended in its last session, unless the process has closed the session itself. */
void strobe_record_store_end(const struct strobe_session_set *sessions, const char *first, int wait_status);

/* Writes a copy of the running session (engine/store/session_copy.h) to a new file beside the recording, and prints its
 * name. A failure is a line on standard error; the recording goes on. */
void strobe_record_snapshot(const struct strobe_record_options *options, const char *session);

/* Begins to record the scheduling of `pid`, which has not executed the program yet, to options->sched; with
 * config.follow also that of its children; with options->attached that of the program that runs. Prints a line when
 * that is not possible, or only in part: options->sched then records nothing, or lacks wake-ups. */
void strobe_record_begin_sched(const struct strobe_record_options *options, pid_t pid, const char *session);

/* Appends the scheduling to the sessions of the recording, and ends it. Prints a line when some of it is lost. Returns
 * 0, or STROBE_EXIT_BAD after a complaint when it cannot be written. */
int strobe_record_store_sched(const struct strobe_record_options *options, const struct strobe_session_set *sessions);

/* Runs argv with the library preloaded, waits for it to end, and stores the wait status. With options->duration_ns, the
 * program gets SIGTERM after that time, and SIGKILL two seconds later. SIGINT, SIGQUIT, SIGTERM and SIGHUP from the
 * terminal reach the program directly; other such signals are passed on to it. A second signal half a second later
 * kills the program. SIGUSR2 takes a snapshot and is not passed on. After its end, these signals end this process, see
 * interrupts.h. Returns 0, or STROBE_EXIT_BAD after a complaint when the program could not be run. */
int strobe_record_run(const struct strobe_record_options *options, const char *path, char **argv, const char *session,
                      int *wait_status);

/* Ends as the program ended: returns its exit status, or dies by the same signal. */
int strobe_record_end_as(int wait_status);

#endif

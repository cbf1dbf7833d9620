/* Declarations that the files of all commands share, in `strobe` and in `strobe-lab`. Each command is one file, with
 * its entry function and its usage text.
 *
 * Exit statuses: 0 success, 1 the check failed, 2 bad use or bad input. */
#ifndef STROBE_CMD_CMD_H
#define STROBE_CMD_CMD_H

#include <stdbool.h>

enum { STROBE_EXIT_OK = 0, STROBE_EXIT_CHECK = 1, STROBE_EXIT_BAD = 2 };

/* One command. `run` gets the name in argv[0] and returns the exit status. */
struct strobe_cmd {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* half a line, for the list of commands */
    const char *usage;   /* output of `strobe help NAME`; names every option. NULL: a command of strobe-lab */
};

/* The program's commands in the order of the list, ended by an entry without a name. */
extern const struct strobe_cmd strobe_cmds[];

/* The name of this program. */
extern const char strobe_program[];

/* The body of each program's main function: finds the command and runs it. Returns the exit status. */
int strobe_main(int argc, char **argv);

/* Returns the command of that name, or NULL. */
const struct strobe_cmd *strobe_cmd_find(const char *name);

/* Complains that there is no command of that name, and suggests a similar one. Returns STROBE_EXIT_BAD. */
int strobe_no_such_command(const char *name);

/* Prints one line `PROGRAM: ...` to standard error and returns STROBE_EXIT_BAD. `format` is a printf format without a
 * newline. */
__attribute__((format(printf, 1, 2))) int strobe_complain(const char *format, ...);

/* Call before the first output of a command. From here on, a closed pipe and the file size limit make writes fail; they
 * cause no signals. Do not call it in a process that executes another program later. */
void strobe_output_begin(void);

/* Flushes standard output. Returns `status`. When some output could not be written, it complains and returns
 * STROBE_EXIT_BAD. When the reader of a pipe has ended, it does what strobe_end_of_pipe does. */
int strobe_output_end(int status);

/* Ends the command after the reader of its output pipe has ended: the process dies by SIGPIPE without a message, as
 * other programs do. When the signal is blocked, it returns the exit status that a shell reports for SIGPIPE. */
int strobe_end_of_pipe(void);

struct option;

/* Returns the next option by getopt_long(3), up to the first other argument; -1 when there is no further option. An
 * option whose `val` is a letter has that letter as its short form. On bad use it prints one line that names the
 * command, and returns '?'. */
int strobe_next_option(int argc, char **argv, const struct option *options);

/* Does the same, but accepts options anywhere among the arguments. After the last option, the other arguments are
 * argv[optind] and on. */
int strobe_any_option(int argc, char **argv, const struct option *options);

/* Completion in shells. With STROBE_COMPLETE=1 in its environment, a program prints the words that may come next on its
 * command line instead of running: its commands, the kinds of an import, or the options of a command. One word a line;
 * `=` behind an option means that it takes a value. ci/completion writes the completion scripts from these lines. */
bool strobe_lists_words(void);

/* Prints one such line: the word, a tab, what it means ("" = nothing). */
void strobe_list_word(const char *word, const char *meaning);

/* Prints a usage text to standard output, as `--help` does. Returns the exit status. */
int strobe_print_usage(const char *usage);

int strobe_cmd_attach(int argc, char **argv);
int strobe_cmd_capture(int argc, char **argv);
int strobe_cmd_convert(int argc, char **argv);
int strobe_cmd_diff(int argc, char **argv);
int strobe_cmd_doctor(int argc, char **argv);
int strobe_cmd_export(int argc, char **argv);
int strobe_cmd_help(int argc, char **argv);
int strobe_cmd_import(int argc, char **argv);
int strobe_cmd_merge(int argc, char **argv);
int strobe_cmd_open(int argc, char **argv);
int strobe_cmd_record(int argc, char **argv);
int strobe_cmd_report(int argc, char **argv);
int strobe_cmd_symbolize(int argc, char **argv);

extern const char strobe_usage_attach[], strobe_usage_capture[], strobe_usage_convert[], strobe_usage_diff[];
extern const char strobe_usage_doctor[], strobe_usage_export[], strobe_usage_help[], strobe_usage_import[];
extern const char strobe_usage_merge[], strobe_usage_open[], strobe_usage_record[], strobe_usage_report[];
extern const char strobe_usage_symbolize[];

#endif

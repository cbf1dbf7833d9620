/* What the files of the commands share, those of `strobe` and of `strobe-lab`: one file a subcommand, each with its
 * entry and its usage text.
 *
 * Exit statuses: 0 fine, 1 the check failed, 2 bad use or bad input. */
#ifndef STROBE_CMD_CMD_H
#define STROBE_CMD_CMD_H

#include <stdbool.h>

enum { STROBE_EXIT_OK = 0, STROBE_EXIT_CHECK = 1, STROBE_EXIT_BAD = 2 };

/* One subcommand. argv[0] is its name; returns the exit status. */
struct strobe_cmd {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* half a line for the list */
    const char *usage;   /* what `strobe help NAME` prints; names every option. NULL: strobe-lab knows */
};

/* The program's subcommands, in the order in which they are listed, ended by an entry without a name. */
extern const struct strobe_cmd strobe_cmds[];

/* The program's own name. */
extern const char strobe_program[];

/* What the main function of each program is: finds the subcommand and runs it. Returns the exit status. */
int strobe_main(int argc, char **argv);

/* The subcommand of that name, or NULL. */
const struct strobe_cmd *strobe_cmd_find(const char *name);

/* Complains that there is no subcommand of that name, with the one that may have been meant. Returns
 * STROBE_EXIT_BAD. */
int strobe_no_such_command(const char *name);

/* Prints the one line `strobe: ...` to standard error and returns STROBE_EXIT_BAD. The text is a printf format and
 * has no newline of its own. */
__attribute__((format(printf, 1, 2))) int strobe_complain(const char *format, ...);

/* Call before the first output of a command: from here on a closed pipe and a file that may not grow are failed writes,
 * not signals. Not in a process that goes on to exec another program. */
void strobe_output_begin(void);

/* Writes out what standard output still holds. Returns `status`, or STROBE_EXIT_BAD with a line when not all of the
 * output could be written. When the reader of a pipe has ended, does what strobe_end_of_pipe does. */
int strobe_output_end(int status);

/* The reader of a pipe that the command writes to has ended: dies by SIGPIPE, without a word, as other programs do.
 * Returns the exit status that a shell reports for that where the signal is blocked. */
int strobe_end_of_pipe(void);

struct option;

/* The next option by getopt_long(3), up to the first argument that is none; -1 when there is no other. Where `val` is a
 * letter, that is the short form. On bad use it prints one line that names the command, and returns '?'. */
int strobe_next_option(int argc, char **argv, const struct option *options);

/* The same, wherever among the other arguments options stand; in the end those others are argv[optind] and on. */
int strobe_any_option(int argc, char **argv, const struct option *options);

/* Completion in shells. With STROBE_COMPLETE=1 in its environment, a program prints the words that may come next on its
 * command line instead of running: its commands, the kinds of an import, or the options of a command. One word a line;
 * `=` behind an option means that it takes a value. ci/completion writes the completion scripts from these lines. */
bool strobe_lists_words(void);

/* Prints one such line: the word, a tab, what it means ("" = nothing). */
void strobe_list_word(const char *word, const char *meaning);

/* Prints a usage text to standard output, as `--help` does. Returns the exit status. */
int strobe_print_usage(const char *usage);

int strobe_cmd_convert(int argc, char **argv);
int strobe_cmd_doctor(int argc, char **argv);
int strobe_cmd_help(int argc, char **argv);
int strobe_cmd_import(int argc, char **argv);
int strobe_cmd_record(int argc, char **argv);
int strobe_cmd_report(int argc, char **argv);
int strobe_cmd_symbolize(int argc, char **argv);

extern const char strobe_usage_convert[], strobe_usage_doctor[], strobe_usage_help[], strobe_usage_import[];
extern const char strobe_usage_record[], strobe_usage_report[], strobe_usage_symbolize[];

#endif

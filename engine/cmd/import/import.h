/* Kinds of files that `strobe import KIND ...` reads. Each kind is one file, import_KIND.c. */
#ifndef STROBE_CMD_IMPORT_IMPORT_H
#define STROBE_CMD_IMPORT_IMPORT_H

/* One kind. `run` is called like a command (cmd.h): argv[0] is "import", followed by the options and files of this
 * kind. strobe_usage_import describes its options. */
struct strobe_import {
    const char *name;
    int (*run)(int argc, char **argv);
};

/* The kinds in the order of their names, ended by an entry without a name. */
extern const struct strobe_import strobe_imports[];

int strobe_import_art_trace(int argc, char **argv);
int strobe_import_btrace_ios(int argc, char **argv);
int strobe_import_btrace2(int argc, char **argv);
int strobe_import_btrace3(int argc, char **argv);
int strobe_import_collapsed(int argc, char **argv);
int strobe_import_ftrace(int argc, char **argv);
int strobe_import_gecko(int argc, char **argv);
int strobe_import_instruments(int argc, char **argv);
int strobe_import_matrix_events(int argc, char **argv);
int strobe_import_matrix_log(int argc, char **argv);
int strobe_import_perf(int argc, char **argv);
int strobe_import_rhea(int argc, char **argv);
int strobe_import_simpleperf(int argc, char **argv);

#endif

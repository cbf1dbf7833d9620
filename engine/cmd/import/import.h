/* Kinds of files that `strobe import KIND ...` reads, each in a file of its own, import_KIND.c. */
#ifndef STROBE_CMD_IMPORT_IMPORT_H
#define STROBE_CMD_IMPORT_IMPORT_H

/* One kind. `run` is called as a command is (cmd.h), without the kind's name: argv[0] is "import", what follows are
 * the options and files of this kind. Its options are told in strobe_usage_import. */
struct strobe_import {
    const char *name;
    int (*run)(int argc, char **argv);
};

/* The kinds, in the order of their names, ended by an entry without one. */
extern const struct strobe_import strobe_imports[];

int strobe_import_btrace2(int argc, char **argv);
int strobe_import_ftrace(int argc, char **argv);
int strobe_import_matrix_events(int argc, char **argv);
int strobe_import_matrix_log(int argc, char **argv);
int strobe_import_rhea(int argc, char **argv);

#endif

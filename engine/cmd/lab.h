/* The lab's commands are another program, strobe-lab: a capture on a developer's machine needs none of it. */
#ifndef STROBE_CMD_LAB_H
#define STROBE_CMD_LAB_H

/* Runs strobe-lab with `argc` arguments in the place of this process. It is looked for beside this program, and in
 * ../libexec/strobe. Returns only when it cannot be run: STROBE_EXIT_BAD, after one line. */
int strobe_exec_lab(int argc, char **argv);

/* The entry of each command of the lab: strobe_exec_lab with the command's own arguments. */
int strobe_cmd_lab(int argc, char **argv);

#endif

/* The lab's commands are in another program, strobe-lab, because a capture on a developer's machine does not need
 * them. */
#ifndef STROBE_CMD_LAB_H
#define STROBE_CMD_LAB_H

/* Executes strobe-lab with `argc` arguments in place of this process. It searches the directory of this program, and
 * ../libexec/strobe. Returns only on failure: STROBE_EXIT_BAD, after a complaint. */
int strobe_exec_lab(int argc, char **argv);

/* The entry function of each command of the lab: strobe_exec_lab with the command's own arguments. */
int strobe_cmd_lab(int argc, char **argv);

#endif

/* The commands of `strobe-lab`: one file each. Their contract is that of `strobe` (engine/cmd/cmd.h). */
#ifndef STROBE_SIM_CMD_COMMANDS_H
#define STROBE_SIM_CMD_COMMANDS_H

int strobe_cmd_compare(int argc, char **argv);
int strobe_cmd_explore(int argc, char **argv);
int strobe_cmd_learn(int argc, char **argv);
int strobe_cmd_run(int argc, char **argv);

extern const char strobe_usage_compare[], strobe_usage_explore[], strobe_usage_learn[], strobe_usage_run[];

#endif

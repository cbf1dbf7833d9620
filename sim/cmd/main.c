/* `strobe-lab`: plays simulated apps and measures how well they are captured. */
#include "engine/cmd/cmd.h"
#include "sim/app/scenario.h"
#include "sim/cmd/commands.h"

#include <stdio.h>
#include <string.h>

const char strobe_program[] = "strobe-lab";

static const char usage_help[] =
    "usage: strobe-lab help [COMMAND | scenario]\n"
    "\n"
    "Lists the commands, or says all about one of them, or about the language in which scenarios are\n"
    "written.\n";

static int cmd_help(int argc, char **argv);

const struct strobe_cmd strobe_cmds[] = {
    {"run", strobe_cmd_run, "play a simulated app, capture it, score the capture", strobe_usage_run},
    {"compare", strobe_cmd_compare, "play scenarios under every capture policy", strobe_usage_compare},
    {"explore", strobe_cmd_explore, "run small programs in every order a memory model allows", strobe_usage_explore},
    {"learn", strobe_cmd_learn, "derive a scenario from captures of an app", strobe_usage_learn},
    {"help", cmd_help, "say what a command does", usage_help},
    {NULL, NULL, NULL, NULL},
};

static int cmd_help(int argc, char **argv)
{
    if (argc > 2)
        return strobe_complain("help: one command at most, not %s too", argv[2]);
    if (argc == 2 && !strcmp(argv[1], "scenario"))
        return strobe_print_usage(sim_scenario_help);
    const struct strobe_cmd *asked = argc == 2 ? strobe_cmd_find(argv[1]) : NULL;
    if (argc == 2)
        return asked ? strobe_print_usage(asked->usage) : strobe_no_such_command(argv[1]);
    strobe_output_begin();
    printf("strobe-lab: plays simulated apps and measures how well they are captured.\n\n");
    for (const struct strobe_cmd *c = strobe_cmds; c->name; c++)
        printf("  strobe-lab %-9s  %s\n", c->name, c->summary);
    printf("\n  -h, --help            this list; after the name of a command: what the command does\n"
           "  -V, --version         the version\n"
           "\n`strobe-lab help COMMAND` says all about one, `strobe-lab help scenario` how scenarios are written.\n"
           "`strobe run`, `compare`, `explore` and `learn` are the same commands.\n"
           "Exit status: 0 fine, 1 the check failed, 2 bad use or bad input.\n");
    return strobe_output_end(STROBE_EXIT_OK);
}

int main(int argc, char **argv)
{
    return strobe_main(argc, argv);
}

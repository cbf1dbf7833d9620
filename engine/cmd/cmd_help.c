#include "engine/cmd/cmd.h"
#include "engine/cmd/lab.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char strobe_usage_help[] =
    "usage: strobe help [COMMAND | scenario]\n"
    "\n"
    "Lists the commands, or describes one of them, or the language of scenarios. The man pages\n"
    "have more details: strobe(1), strobe-COMMAND(1), strobe-scenario(5), strobe-session(5).\n";

static void print_group(bool of_lab)
{
    for (const struct strobe_cmd *c = strobe_cmds; c->name; c++)
        if (!c->usage == of_lab)
            printf("  strobe %-9s  %s\n", c->name, c->summary);
}

static void list_commands(void)
{
    printf("strobe: a sampling trace engine. It records the call stacks of a running program\n"
           "at low cost, and turns them into a timeline.\n\n");
    print_group(false);
    printf("\nThe lab, which plays simulated apps and measures the engine:\n\n");
    print_group(true);
    printf("\n  -h, --help        this list; after the name of a command: what the command does\n"
           "  -V, --version     the version\n"
           "\n`strobe help COMMAND` describes a command, `strobe help scenario` the language of scenarios.\n"
           "Exit status: 0 fine, 1 the check failed, 2 bad use or bad input.\n");
}

int strobe_cmd_help(int argc, char **argv)
{
    if (argc > 2)
        return strobe_complain("help: one command at most, not %s too", argv[2]);
    if (argc == 2 && !strcmp(argv[1], "scenario"))
        return strobe_exec_lab(argc, argv);
    const struct strobe_cmd *c = argc == 2 ? strobe_cmd_find(argv[1]) : NULL;
    if (argc == 2 && !c)
        return strobe_no_such_command(argv[1]);
    if (c)
        return c->usage ? strobe_print_usage(c->usage) : strobe_exec_lab(argc, argv);
    strobe_output_begin();
    list_commands();
    return strobe_output_end(STROBE_EXIT_OK);
}

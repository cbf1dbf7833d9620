/* The `strobe` command: finds the subcommand and runs it. */
#include "engine/cmd/cmd.h"
#include "sim/player/mach/seat.h"
#include "sim/player/virtual/virtual.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

const struct strobe_cmd strobe_cmds[] = {
    {"record", strobe_cmd_record, "run a program and take its timeline", strobe_usage_record, false},
    {"report", strobe_cmd_report, "print threads, hottest methods, longest waits and losses", strobe_usage_report,
     false},
    {"convert", strobe_cmd_convert, "make a trace of a session, for a viewer", strobe_usage_convert, false},
    {"doctor", strobe_cmd_doctor, "what this machine allows, and what a program is", strobe_usage_doctor, false},
    {"symbolize", strobe_cmd_symbolize, "give renamed methods of a session their names back", strobe_usage_symbolize,
     false},
    {"import", strobe_cmd_import, "read what other tracers wrote", strobe_usage_import, false},
    {"help", strobe_cmd_help, "say what a command does", strobe_usage_help, false},
    {"run", strobe_cmd_run, "play a simulated app, capture it, score the capture", strobe_usage_run, true},
    {"compare", strobe_cmd_compare, "play scenarios under every capture policy", strobe_usage_compare, true},
    {"explore", strobe_cmd_explore, "run small programs in every order a memory model allows", strobe_usage_explore,
     true},
    {NULL, NULL, NULL, NULL, false},
};

/* A standard stream that is closed would be the next file opened: output would go into it. What stands in for it fails
 * on use, as a closed one does, and a program that is run finds it closed again. */
static void hold_closed_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

int main(int argc, char **argv)
{
    hold_closed_streams();
    if (argc < 2)
        return strobe_complain("which command? `strobe help` lists them");
    const char *name = argv[1];
    if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
        strobe_output_begin();
        printf("strobe %s\n", STROBE_VERSION);
        return strobe_output_end(STROBE_EXIT_OK);
    }
    if (!strcmp(name, SIM_REAL_COMMAND))   /* what real mode starts; nothing for people */
        return sim_real_child(argc - 1, argv + 1);
    if (!strcmp(name, SIM_REAL_MACH_COMMAND))
        return sim_real_mach_child(argc - 1, argv + 1);
    if (!strcmp(name, SIM_VIRTUAL_COMMAND))
        return sim_virtual_child(argc - 1, argv + 1);
    if (!strcmp(name, SIM_VIRTUAL_MACH_COMMAND))
        return sim_virtual_mach_child(argc - 1, argv + 1);
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        name = "help";
    const struct strobe_cmd *c = strobe_cmd_find(name);
    if (!c)
        return strobe_no_such_command(name);
    return c->run(argc - 1, argv + 1);
}

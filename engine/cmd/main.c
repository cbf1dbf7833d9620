/* `strobe`: records timelines of programs, and reads them. */
#include "engine/cmd/cmd.h"
#include "engine/cmd/lab.h"

#include <stddef.h>

const char strobe_program[] = "strobe";

const struct strobe_cmd strobe_cmds[] = {
    {"record", strobe_cmd_record, "run a program and take its timeline", strobe_usage_record},
    {"attach", strobe_cmd_attach, "take the timeline of a running program", strobe_usage_attach},
    {"capture", strobe_cmd_capture, "capture a running app, on a device or here", strobe_usage_capture},
    {"report", strobe_cmd_report, "print threads, hottest methods, longest waits and losses", strobe_usage_report},
    {"convert", strobe_cmd_convert, "make a trace of a session, for a viewer", strobe_usage_convert},
    {"export", strobe_cmd_export, "write many captures as JSON lines, for a data base", strobe_usage_export},
    {"diff", strobe_cmd_diff, "compare captures, and say which differences are real", strobe_usage_diff},
    {"merge", strobe_cmd_merge, "join sessions and traces of the system on one timeline", strobe_usage_merge},
    {"open", strobe_cmd_open, "show a trace in the Perfetto UI, in the browser", strobe_usage_open},
    {"doctor", strobe_cmd_doctor, "what this machine allows, and what a program is", strobe_usage_doctor},
    {"symbolize", strobe_cmd_symbolize, "give renamed methods of a session their names back", strobe_usage_symbolize},
    {"import", strobe_cmd_import, "read what other tracers wrote", strobe_usage_import},
    {"help", strobe_cmd_help, "say what a command does", strobe_usage_help},
    {"run", strobe_cmd_lab, "play a simulated app, capture it, score the capture", NULL},
    {"compare", strobe_cmd_lab, "play scenarios under every capture policy", NULL},
    {"explore", strobe_cmd_lab, "run small programs in every order a memory model allows", NULL},
    {"learn", strobe_cmd_lab, "derive a scenario from captures of an app", NULL},
    {NULL, NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
    return strobe_main(argc, argv);
}

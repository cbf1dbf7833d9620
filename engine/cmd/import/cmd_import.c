#include "engine/cmd/cmd.h"
#include "engine/cmd/import/import.h"

#include <stdio.h>
#include <string.h>

const char strobe_usage_import[] =
    "usage: strobe import KIND FILE|- [OPTIONS]\n"
    "\n"
    "Reads what other tracers wrote. Each kind of file has options of its own.\n"
    "\n"
    "btrace2: a method log of btrace 2.0; makes a trace or session of it\n"
    "  --mapping FILE          the build's methodMapping.txt: methods by their names\n"
    "  --system-begin TIME     when the system trace begins that it is to lie beside: if that is\n"
    "                          on BOOTTIME, the log is moved there\n"
    "ftrace: text of ftrace, as atrace, systrace and RheaTrace write it; the same\n"
    "  --pid N                 the process to take (the one with the most marks)\n"
    "  --marks plain|rhea      what B:, E: and T: before names are: part of them, or RheaTrace's\n"
    "                          (auto: RheaTrace's where there are E: or T: marks)\n"
    "rhea: RheaTrace's raw log, or the ring of its capture as its process left it, or a trace in\n"
    "  profilo's text; makes a trace of it, or (--format profilo) text of that kind\n"
    "  All three:\n"
    "  -o, --output OUT        the trace; `-` is standard output\n"
    "  --format FORMAT         perfetto, chrome, speedscope or folded, as `strobe convert` has them;\n"
    "                          session (*.strobe), for `strobe report` and the like; ftrace\n"
    "                          (*.ftrace), or btrace2 (*.btrace2, and its OUT.mapping); if not\n"
    "                          given, OUT's ending says it\n"
    "  --repair last           calls that nobody ended end at the last event of their thread\n"
    "                          before the mark that shows it (default)\n"
    "  --repair enclosing      ... at the time of that mark\n"
    "  --deflate               compress packets (perfetto only)\n"
    "  -f, --force, --replace  overwrite OUT\n"
    "  -q, --quiet             do not say what was repaired and left out\n"
    "\n"
    "matrix-events: streams of Matrix's method events, one a line\n"
    "      ID@0 I4@10 O4@156 OD@1249 end=1249\n"
    "  I in, O out; the method's id, or D for the message loop's dispatch (1048574); @ms. end= is\n"
    "  when it was looked at; if not given, the last event's time. Prints a JSON line for each,\n"
    "  at once: \"stack\" and \"trimmed\" (to 30), lists of \"depth,method,count,ms\"; \"cost_ms\", the\n"
    "  longer of the message and its longest item; \"key\", the method to blame and a bar.\n"
    "  What comes before the first ID is skipped.\n"
    "  --contract documented   calls as the design says (default)\n"
    "  --contract upstream     what Matrix's own parser makes of it, its defects included\n"
    "\n"
    "matrix-log: a dump of Matrix's method log, entries of 8 bytes; prints the same for each message\n"
    "  --contract WHICH        as above\n"
    "  --mapping FILE          the build's methodMapping.txt: methods by their names\n"
    "\n"
    "Exit status: 0 fine, 2 bad use or bad input.\n";

const struct strobe_import strobe_imports[] = {
    {"btrace2", strobe_import_btrace2},
    {"ftrace", strobe_import_ftrace},
    {"matrix-events", strobe_import_matrix_events},
    {"matrix-log", strobe_import_matrix_log},
    {"rhea", strobe_import_rhea},
    {NULL, NULL},
};

/* "a, b or c" */
static const char *kinds(char *line, size_t bytes)
{
    size_t used = 0;
    line[0] = 0;
    for (const struct strobe_import *i = strobe_imports; i->name && used < bytes; i++)
        used += (size_t)snprintf(line + used, bytes - used, "%s%s",
                                 i == strobe_imports ? ""
                                 : i[1].name         ? ", "
                                                     : " or ",
                                 i->name);
    return line;
}

int strobe_cmd_import(int argc, char **argv)
{
    char known[256];
    if (argc < 2 && strobe_lists_words()) {
        for (const struct strobe_import *i = strobe_imports; i->name; i++)
            strobe_list_word(i->name, "");
        return STROBE_EXIT_OK;
    }
    if (argc < 2)
        return strobe_complain("import: which kind? expected %s", kinds(known, sizeof known));
    for (const struct strobe_import *i = strobe_imports; i->name; i++)
        if (!strcmp(i->name, argv[1])) {
            argv[1] = argv[0];
            return i->run(argc - 1, argv + 1);
        }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return strobe_print_usage(strobe_usage_import);
    if (argv[1][0] == '-')
        return strobe_complain("import: no such option: %.2s%s; `strobe help import` lists them", argv[1],
                               argv[1][1] == '-' ? argv[1] + 2 : "");
    return strobe_complain("import: no such kind: %s; expected %s", argv[1], kinds(known, sizeof known));
}

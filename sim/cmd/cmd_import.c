#include "sim/cmd/cmd.h"
#include "sim/cmd/import.h"

#include <stdio.h>
#include <string.h>

const char strobe_usage_import[] =
    "usage: strobe import KIND FILE|- [OPTIONS]\n"
    "\n"
    "Reads what other tracers wrote. Each kind of file has options of its own.\n"
    "\n"
    "Exit status: 0 fine, 2 bad use or bad input.\n";

const struct strobe_import strobe_imports[] = {
    {NULL, NULL},
};

/* "a, b or c" */
static const char *kinds(char *line, size_t bytes)
{
    size_t used = 0;
    line[0] = 0;
    for (const struct strobe_import *i = strobe_imports; i->name && used < bytes; i++)
        used += (size_t)snprintf(line + used, bytes - used, "%s%s",
                                 i == strobe_imports ? "" : i[1].name ? ", " : " or ", i->name);
    return line;
}

int strobe_cmd_import(int argc, char **argv)
{
    char known[256];
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
        return strobe_complain("import: no such option: %.2s%s; `strobe help import` lists them",
                               argv[1], argv[1][1] == '-' ? argv[1] + 2 : "");
    return strobe_complain("import: no such kind: %s; expected %s", argv[1], kinds(known, sizeof known));
}

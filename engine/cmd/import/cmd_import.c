#include "engine/cmd/cmd.h"
#include "engine/cmd/import/import.h"

#include <stdio.h>
#include <string.h>

const char strobe_usage_import[] =
    "usage: strobe import KIND FILE|- [OPTIONS]\n"
    "\n"
    "Reads files of other tracers. Each kind of file has its own options.\n"
    "\n"
    "art-trace: a method trace of Android's runtime (*.trace), stored or streamed; makes a trace or\n"
    "  session from it\n"
    "btrace2: a method log of btrace 2.0; makes a trace or session from it\n"
    "  --mapping FILE          the build's methodMapping.txt: names of methods\n"
    "  --system-begin TIME     begin of the system trace that belongs to the log; if that time is on\n"
    "                          BOOTTIME, the times of the log are moved to BOOTTIME\n"
    "ftrace: text of ftrace from atrace, systrace or RheaTrace; makes a trace or session from it. A\n"
    "  Perfetto trace gets all events, as of `strobe merge`; other outputs the calls of one process\n"
    "  --pid N                 the process to import (the process with most markers)\n"
    "  --marks plain|rhea      B:, E: and T: before names are part of the name, or RheaTrace's kinds\n"
    "                          of markers (auto: RheaTrace's when there are E: or T: markers)\n"
    "rhea: RheaTrace's raw log, or the ring file that its process left, or a trace in profilo's\n"
    "  text format; makes a trace from it, or (--format profilo) text in profilo's format\n"
    "  Options of these four:\n"
    "  -o, --output OUT        the trace; `-` is standard output\n"
    "  --format FORMAT         perfetto, chrome, speedscope, folded, pprof or firefox, as `strobe\n"
    "                          convert` has them; session (*.strobe), for `strobe report` and the\n"
    "                          like; ftrace (*.ftrace), or btrace2 (*.btrace2, and its OUT.mapping);\n"
    "                          the default follows from OUT's ending\n"
    "  --repair last           a call without an end ends at the last event of its thread before the\n"
    "                          event that shows the missing end (default)\n"
    "  --repair enclosing      ... at the time of the event that shows it\n"
    "  --deflate               compress packets (perfetto only)\n"
    "  -f, --force, --replace  overwrite OUT\n"
    "  -q, --quiet             do not print what was repaired and skipped\n"
    "\n"
    "btrace3: a capture of btrace 3.0 of Android: its file `sampling`. A second file is its\n"
    "  mapping; by default the one beside it, with `-mapping` after its name\n"
    "btrace-ios: a database of btrace 3.0 of iOS (`btrace.sqlite`); names of functions come from\n"
    "  `strobe symbolize --dsym`\n"
    "perf: text of `perf script`, with or without call chains, of any fields; also context\n"
    "  switches (`--show-switch-events`, sched:sched_switch) and tasks (`--show-task-events`)\n"
    "simpleperf: what `simpleperf report-sample --protobuf --show-callchain` writes; also context\n"
    "  switches (`simpleperf record --trace-offcpu`)\n"
    "gecko: a profile of Firefox's profiler, processed or raw, as JSON that is not compressed\n"
    "collapsed: stacks as for flame graphs, `a;b;c 12` a line; they have no times, so each stack\n"
    "  is shown for its weight, one after the other\n"
    "instruments: a table of time profiles, as XML of `xcrun xctrace export --xpath`; see the page\n"
    "  --event NAME            perf, simpleperf: the event whose samples are read (that with most)\n"
    "  --pid N                 perf, simpleperf, gecko, instruments: the process to import (the\n"
    "                          largest)\n"
    "  --trace N               btrace-ios: the trace of the database (the last)\n"
    "  --unit TIME             collapsed: the time of the weight 1 (1ms)\n"
    "  --threads HOW           collapsed: first, the first frame is the thread; none, it is a\n"
    "                          function; auto, the thread if all have the form NAME-PID/TID,\n"
    "                          NAME-TID or [NAME tid=TID] (auto)\n"
    "  Options of these seven:\n"
    "  -o, --output OUT        a session (*.strobe) or a trace; `-` is standard output\n"
    "  --format FORMAT         session, perfetto, chrome, speedscope or folded; the default\n"
    "                          follows from OUT's ending\n"
    "  --interval TIME         the interval of the samples; a pause of more than four is shown as\n"
    "                          unseen (btrace3, btrace-ios: 1ms; else that of the file)\n"
    "  --deflate, -f, --force, -q, --quiet  as above\n"
    "\n"
    "matrix-events: streams of Matrix's method events, one a line\n"
    "      ID@0 I4@10 O4@156 OD@1249 end=1249\n"
    "  I enters, O leaves; then the method's id, or D for the message loop's dispatch (1048574);\n"
    "  @ms. end= is the time at which Matrix looked at the stream (default: the last event's time).\n"
    "  Prints one JSON line for each stream, at once: \"stack\" and \"trimmed\" (to 30), lists of\n"
    "  \"depth,method,count,ms\"; \"cost_ms\", the longer of the message and its longest item; \"key\",\n"
    "  the method to blame and a bar. Events before the first ID are skipped.\n"
    "  --contract documented   calls as Matrix's design describes them (default)\n"
    "  --contract upstream     the output of Matrix's own parser, with its defects\n"
    "\n"
    "matrix-log: a dump of Matrix's method log, entries of 8 bytes; prints the same for each message\n"
    "  --contract WHICH        as above\n"
    "  --mapping FILE          the build's methodMapping.txt: names of methods\n"
    "\n"
    "Exit status: 0 fine, 2 bad use or bad input.\n";

const struct strobe_import strobe_imports[] = {
    {"art-trace", strobe_import_art_trace},
    {"btrace-ios", strobe_import_btrace_ios},
    {"btrace2", strobe_import_btrace2},
    {"btrace3", strobe_import_btrace3},
    {"collapsed", strobe_import_collapsed},
    {"ftrace", strobe_import_ftrace},
    {"gecko", strobe_import_gecko},
    {"instruments", strobe_import_instruments},
    {"matrix-events", strobe_import_matrix_events},
    {"matrix-log", strobe_import_matrix_log},
    {"perf", strobe_import_perf},
    {"rhea", strobe_import_rhea},
    {"simpleperf", strobe_import_simpleperf},
    {NULL, NULL},
};

/* "a, b or c" */
static const char *list_import_kinds(char *line, size_t bytes)
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
        return strobe_complain("import: which kind? expected %s", list_import_kinds(known, sizeof known));
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
    return strobe_complain("import: no such kind: %s; expected %s", argv[1], list_import_kinds(known, sizeof known));
}

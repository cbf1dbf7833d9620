#include "engine/base/pid_text.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/record/record.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char strobe_usage_record[] =
    "usage: strobe record [OPTIONS] -- COMMAND [ARG ...]\n"
    "\n"
    "Runs a program with the engine preloaded and leaves a session and a trace of it. The program's input,\n"
    "output, environment and exit status are its own.\n"
    "\n"
    "  -o, --output FILE       the trace, in the format that its ending says (see `strobe help convert`); the\n"
    "                          session is put beside it, as FILE with .strobe for its ending\n"
    "                          (default COMMAND.PID.perfetto-trace here)\n"
    "      --no-convert        make no trace; -o names the session (default COMMAND.PID.strobe)\n"
    "  -f, --force             overwrite files that are there\n"
    "  -q, --quiet             print errors only\n"
    "      --deflate           compress the trace's packets\n"
    "\n"
    "What is sampled (times are numbers with ns, us, ms or s; sizes are numbers with k or M):\n"
    "      --interval TIME     minimum time between samples of a thread at its hooks (1ms); 0 = every event\n"
    "      --main-interval TIME  the same for the main thread only\n"
    "      --async-interval TIME  CPU time of a thread between two of its samples (1ms); 0 = no such samples. Where\n"
    "                          CPU clocks cannot interrupt threads, a sampler stops the main thread once in each\n"
    "                          TIME, other threads half as often\n"
    "      --scope-min TIME    blocking calls of at least this length are always recorded (100us)\n"
    "      --metrics LIST      list of cpu, alloc, faults, switches; or all, none (cpu,alloc)\n"
    "      --unwind HOW        fp: frame pointers only; dwarf, auto: call frame information (.eh_frame) where\n"
    "                          code has it, frame pointers elsewhere (auto)\n"
    "      --depth N           maximum of innermost frames kept of a stack (192, the maximum)\n"
    "      --delay TIME        record nothing for this time after the start\n"
    "      --loop              each return from poll, select or epoll_wait begins a new message: equal stacks of\n"
    "                          different turns of an event loop stay separate\n"
    "      --follow[=NAMES]    also record child processes, into one trace. The session is then a folder with\n"
    "                          a file for each process. NAMES: only programs with these file names, separated\n"
    "                          by commas; * and ? match any text and any character. The COMMAND is always\n"
    "                          recorded\n"
    "      --sched             also record the kernel's scheduling of the program's threads, by perf events or\n"
    "                          tracefs: when each ran, was runnable and slept, and, where tracepoints are\n"
    "                          allowed, its wakers. With --follow also of child processes. `strobe doctor`\n"
    "                          says what is allowed\n"
    "      --duration TIME     end the program after this time: TERM, and KILL two seconds later\n"
    "      --control[=NAME]    control server in the program at the abstract Unix socket NAME: status, pause,\n"
    "                          resume, stop, the session so far (see strobe-record(1)); {pid} in NAME is the\n"
    "                          program's process id (strobe-{pid})\n"
    "\n"
    "Every call instead (of programs built with -finstrument-functions):\n"
    "      --method            record each entry and exit of a function; no samples\n"
    "      --with-samples      also take samples\n"
    "      --method-clock HOW  exact: the clock is read each time; 5ms: a thread reads it every 5 ms (exact)\n"
    "      --method-log SIZE   space for entries and exits, 16 bytes each, from 1M to 4095M (64M)\n"
    "\n"
    "Memory:\n"
    "      --ring N            maximum of records kept (256k)\n"
    "      --keep WHICH        newest: overwrite the oldest records, or calls; oldest: stop when full (newest)\n"
    "      --stack-nodes N     maximum of stack frames kept, each (caller, address) pair once (1M)\n"
    "      --signal N          signal that stops a thread (the highest free real-time signal)\n"
    "\n"
    "INT, TERM, HUP and QUIT go to the program, and the recording ends when the program ends. Ctrl-C reaches the\n"
    "program directly; strobe passes on signals that it gets. A second signal, half a second later, kills the\n"
    "program. In both cases a trace is made.\n"
    "\n"
    "Exit status: the program's own; 2 when it could not be run or its trace could not be written.\n";

enum {
    NO_CONVERT = 256,
    DEFLATE,
    INTERVAL,
    MAIN_INTERVAL,
    ASYNC_INTERVAL,
    SCOPE_MIN,
    METRICS,
    UNWIND,
    DEPTH,
    DELAY,
    LOOP,
    FOLLOW,
    SCHED,
    DURATION,
    CONTROL,
    METHOD,
    WITH_SAMPLES,
    METHOD_CLOCK,
    METHOD_LOG,
    RING,
    KEEP,
    STACK_NODES,
    SIGNAL
};

static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},
    {"no-convert", no_argument, NULL, NO_CONVERT},
    {"force", no_argument, NULL, 'f'},
    {"quiet", no_argument, NULL, 'q'},
    {"deflate", no_argument, NULL, DEFLATE},
    {"interval", required_argument, NULL, INTERVAL},
    {"main-interval", required_argument, NULL, MAIN_INTERVAL},
    {"async-interval", required_argument, NULL, ASYNC_INTERVAL},
    {"scope-min", required_argument, NULL, SCOPE_MIN},
    {"metrics", required_argument, NULL, METRICS},
    {"unwind", required_argument, NULL, UNWIND},
    {"depth", required_argument, NULL, DEPTH},
    {"delay", required_argument, NULL, DELAY},
    {"loop", no_argument, NULL, LOOP},
    {"follow", optional_argument, NULL, FOLLOW},
    {"sched", no_argument, NULL, SCHED},
    {"duration", required_argument, NULL, DURATION},
    {"control", optional_argument, NULL, CONTROL},
    {"method", no_argument, NULL, METHOD},
    {"with-samples", no_argument, NULL, WITH_SAMPLES},
    {"method-clock", required_argument, NULL, METHOD_CLOCK},
    {"method-log", required_argument, NULL, METHOD_LOG},
    {"ring", required_argument, NULL, RING},
    {"keep", required_argument, NULL, KEEP},
    {"stack-nodes", required_argument, NULL, STACK_NODES},
    {"signal", required_argument, NULL, SIGNAL},
    {"help", no_argument, NULL, 'h'},
    {0},
};

/* ---- values ---- */

static bool parse_metrics(const char *text, uint32_t *out)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } groups[] = {
        {"cpu", STROBE_METRIC_CPU},
        {"alloc", STROBE_METRIC_ALLOC},
        {"faults", STROBE_METRIC_FAULTS},
        {"switches", STROBE_METRIC_SWITCHES},
        {"none", 0},
        {"all", STROBE_METRIC_CPU | STROBE_METRIC_ALLOC | STROBE_METRIC_FAULTS | STROBE_METRIC_SWITCHES},
    };
    *out = 0;
    for (const char *at = text;;) {
        size_t n = strcspn(at, ","), i = 0;
        while (i < sizeof groups / sizeof *groups && (strlen(groups[i].name) != n || strncmp(groups[i].name, at, n)))
            i++;
        if (i == sizeof groups / sizeof *groups)
            return false;
        *out |= groups[i].bits;
        if (at[n] == '\0')
            return true;
        at += n + 1;
    }
}

static int bad_value(const char *option, const char *value, const char *expected)
{
    return strobe_complain("record: --%s %s: expected %s", option, value, expected);
}

/* ---- options ---- */

static const char a_time[] = "a time such as 1ms, 250us or 0";

enum { CALL_LOG_LEAST = 1 << 20, CALL_LOG_DEFAULT = 64 << 20 };

static int take_method(int c, struct strobe_record_options *o)
{
    switch (c) {
    case METHOD: o->method = true; return 0;
    case WITH_SAMPLES: o->samples = true; return 0;
    case METHOD_CLOCK:
        o->config.calls |= !strcmp(optarg, "5ms") ? STROBE_CALLS_COARSE : 0;
        return !strcmp(optarg, "5ms") || !strcmp(optarg, "exact") ? 0
                                                                  : bad_value("method-clock", optarg, "exact or 5ms");
    default:
        return strobe_parse_count(optarg, CALL_LOG_LEAST, UINT32_MAX - CALL_LOG_LEAST, &o->call_log_bytes)
                   ? 0
                   : bad_value("method-log", optarg, "a size from 1M to 4095M");
    }
}

static int take_names(struct strobe_record_options *o)
{
    const char *names = optarg ? optarg : "";
    if (optarg && (!*names || strchr(names, '/') || strlen(names) >= sizeof o->only))
        return bad_value("follow", names, "file names of programs, separated by commas");
    snprintf(o->only, sizeof o->only, "%s", names);
    return 0;
}

/* The longest process id has 10 digits. */
static int take_control(struct strobe_record_options *o)
{
    const char *name = optarg ? optarg : "strobe-{pid}";
    char longest[STROBE_CONTROL_NAME_BYTES];
    if (!strobe_insert_pid(name, strlen(name), UINT32_MAX, longest, sizeof longest))
        return bad_value("control", name, "a name of 1 to 99 bytes");
    snprintf(o->control, sizeof o->control, "%s", name);
    return 0;
}

/* Recording calls without samples needs less memory for samples. */
static int settle_method(struct strobe_record_options *o)
{
    struct strobe_config *k = &o->config;
    if (!o->method)
        return o->samples || k->calls || o->call_log_bytes
                   ? strobe_complain("record: --with-samples, --method-clock and --method-log go with --method")
                   : 0;
    uint32_t bytes = o->call_log_bytes ? o->call_log_bytes : CALL_LOG_DEFAULT;
    k->call_units = (uint16_t)(bytes / STROBE_CALL_UNIT_BYTES);
    if (k->ring_mode == STROBE_KEEP_OLDEST)
        k->calls |= STROBE_CALLS_KEEP_OLDEST;
    if (!o->samples) {
        k->calls |= STROBE_CALLS_ONLY;
        k->ring_slots = k->stack_nodes = 1024;
    }
    return 0;
}

static int take_record_option(int c, struct strobe_record_options *o, const char **output)
{
    struct strobe_config *k = &o->config;
    switch (c) {
    case 'o': *output = optarg; return *optarg ? 0 : strobe_complain("record: -o: expected a file name");
    case NO_CONVERT: o->convert = false; return 0;
    case 'f': o->replace = true; return 0;
    case 'q': o->quiet = true; return 0;
    case DEFLATE: o->deflate = true; return 0;
    case INTERVAL:
        if (!strobe_parse_time(optarg, &k->interval_other_ns))
            return bad_value("interval", optarg, a_time);
        k->interval_main_ns = k->interval_other_ns;
        return 0;
    case MAIN_INTERVAL:
        return strobe_parse_time(optarg, &k->interval_main_ns) ? 0 : bad_value("main-interval", optarg, a_time);
    case ASYNC_INTERVAL:
        if (!strobe_parse_time(optarg, &k->async_interval_ns) || (k->async_interval_ns && k->async_interval_ns < 50000))
            return bad_value("async-interval", optarg, "0, or a time of at least 50us");
        return 0;
    case SCOPE_MIN: return strobe_parse_time(optarg, &k->scope_min_ns) ? 0 : bad_value("scope-min", optarg, a_time);
    case METRICS:
        return parse_metrics(optarg, &k->metrics)
                   ? 0
                   : bad_value("metrics", optarg, "a list of cpu, alloc, faults, switches; or all, none");
    case UNWIND:
        k->unwind = !strcmp(optarg, "fp") ? STROBE_UNWIND_FP : STROBE_UNWIND_DWARF;
        return !strcmp(optarg, "auto") || !strcmp(optarg, "fp") || !strcmp(optarg, "dwarf")
                   ? 0
                   : bad_value("unwind", optarg, "auto, fp or dwarf");
    case DEPTH:
        return strobe_parse_count(optarg, 1, STROBE_STACK_DEPTH_MAX, &k->depth_max)
                   ? 0
                   : bad_value("depth", optarg, "a number from 1 to 192");
    case DELAY: return strobe_parse_time(optarg, &k->delay_ns) ? 0 : bad_value("delay", optarg, a_time);
    case LOOP: k->message_per_poll = 1; return 0;
    case FOLLOW: k->follow = 1; return take_names(o);
    case SCHED: o->wants_sched = true; return 0;
    case DURATION:
        return strobe_parse_time(optarg, &o->duration_ns) && o->duration_ns
                   ? 0
                   : bad_value("duration", optarg, "a time above 0 such as 5s");
    case CONTROL: return take_control(o);
    case METHOD:
    case WITH_SAMPLES:
    case METHOD_CLOCK:
    case METHOD_LOG: return take_method(c, o);
    case RING:
        return strobe_parse_count(optarg, 1024, 1u << 28, &k->ring_slots)
                   ? 0
                   : bad_value("ring", optarg, "a number of records from 1k to 256M");
    case KEEP:
        k->ring_mode = !strcmp(optarg, "oldest") ? STROBE_KEEP_OLDEST : STROBE_KEEP_NEWEST;
        return !strcmp(optarg, "oldest") || !strcmp(optarg, "newest") ? 0
                                                                      : bad_value("keep", optarg, "newest or oldest");
    case STACK_NODES:
        return strobe_parse_count(optarg, 1024, STROBE_STACK_NODES_MAX, &k->stack_nodes)
                   ? 0
                   : bad_value("stack-nodes", optarg, "a number from 1k to 16M less one");
    case SIGNAL:
        return strobe_parse_count(optarg, 34, 64, &k->suspend_signal)
                   ? 0
                   : bad_value("signal", optarg, "a real-time signal's number, 34 to 64");
    default: return STROBE_EXIT_BAD;
    }
}

int strobe_record_parse(int argc, char **argv, struct strobe_record_options *out, int *first)
{
    const char *output = NULL;
    *out = (struct strobe_record_options){.convert = true};
    strobe_config_default(&out->config);
    out->config.unwind = STROBE_UNWIND_DWARF;
    optind = 1;
    for (int c; (c = strobe_next_option(argc, argv, options)) != -1;) {
        if (c == 'h') {
            *first = 0;
            return strobe_print_usage(strobe_usage_record);
        }
        int status = c == '?' ? STROBE_EXIT_BAD : take_record_option(c, out, &output);
        if (status)
            return status;
    }
    if (optind >= argc)
        return strobe_complain("record: which program? strobe record [OPTIONS] -- COMMAND [ARG ...]");
    int unfit = settle_method(out);
    if (unfit)
        return unfit;
    if (out->config.delay_ns && !out->config.async_interval_ns && !(out->config.calls & STROBE_CALLS_ONLY))
        return strobe_complain("record: --delay needs the sampler, which --async-interval 0 turns off");
    *first = optind;
    return strobe_record_name_files(out, output, argv[optind]);
}

/* ---- names ---- */

int strobe_record_name_files(struct strobe_record_options *o, const char *output, const char *command)
{
    const char *base = strrchr(command, '/');
    char stem[PATH_MAX];
    if (o->convert && output &&
        strobe_choose_by_ending(output, "", "with --no-convert -o names the session", &o->format))
        return STROBE_EXIT_BAD;
    int n = output ? snprintf(stem, sizeof stem, "%s", output)
                   : snprintf(stem, sizeof stem, "%s.%d", base ? base + 1 : command, (int)getpid());
    if (n < 0 || (size_t)n + 32 > sizeof stem)
        return strobe_complain("record: output name is too long");
    if (!o->convert) {
        snprintf(o->session, sizeof o->session, output ? "%s" : "%s.strobe", stem);
        return 0;
    }
    snprintf(o->trace, sizeof o->trace, output ? "%s" : "%s.perfetto-trace", stem);
    stem[strlen(stem) - strobe_trace_ending(stem, &o->format)] = '\0';
    snprintf(o->session, sizeof o->session, "%.*s.strobe", PATH_MAX - 16, stem);
    if (!o->replace && access(o->trace, F_OK) == 0)
        return strobe_complain("%s: exists already; --force overwrites it", o->trace);
    return 0;
}

#include "engine/cmd/arguments.h"
#include "engine/cmd/capture/capture.h"
#include "engine/cmd/cmd.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

const char strobe_usage_capture[] =
    "usage: strobe capture -a PACKAGE [OPTIONS] -o OUT\n"
    "       strobe capture --local SOCKET [OPTIONS] -o OUT\n"
    "       strobe capture --host HOST:PORT [--token TOKEN] [OPTIONS] -o OUT\n"
    "\n"
    "Captures a running app through its control server, and fetches the session. An app on an Android device is\n"
    "reached through adb, which must be on PATH, as must curl. The device is left as it was.\n"
    "\n"
    "  -a, --app PACKAGE       an app on a device; it is debuggable and loads libstrobe.so\n"
    "  -s, --serial SERIAL     the device, when there are several (see `adb devices`)\n"
    "      --restart           end the app, and capture it from its start\n"
    "      --local SOCKET      an app on this machine: the abstract socket of its server\n"
    "      --host HOST:PORT    an app whose server listens at a port\n"
    "      --token TOKEN       what that server asks for; the environment's STROBE_TOKEN is not seen by other users\n"
    "  -t, --time TIME         duration of the capture, such as 10s; without it Enter or Ctrl-C ends the capture\n"
    "      --wait TIME         how long to wait for the app and its server (20s)\n"
    "      --start OPTIONS     options of the capture, separated by blanks: interval=1ms, records=N, keep=oldest\n"
    "\n"
    "  -o, --output OUT        the trace, in the format that its ending says (see `strobe help convert`); the\n"
    "                          session is put beside it, as OUT with .strobe for its ending. OUT.strobe: the\n"
    "                          session only\n"
    "      --system CATEGORIES     the system's own trace of the same time, such as sched,freq: by perfetto, or by\n"
    "                          atrace, on the device or on this machine. A Perfetto trace gets that of perfetto\n"
    "                          in the same file; otherwise it is put beside the trace, as OUT with\n"
    "                          .system.perfetto-trace or .system.atrace for its ending\n"
    "      --mapping FILE      mapping.txt of ProGuard or R8: methods get their names back\n"
    "      --symbols PATH      an unstripped library, or a folder with such libraries; can be given again\n"
    "  -f, --force             overwrite files that are there\n"
    "  -q, --quiet             print errors only\n"
    "\n"
    "A capture that runs already is not ended: the part of it that was recorded meanwhile is fetched.\n"
    "\n"
    "Exit status: 0 fine, 2 bad use, no app, or no session.\n";

enum { RESTART = 256, LOCAL, HOST, TOKEN, WAIT, START, MAPPING, SYMBOLS, SYSTEM };

static const char a_duration[] = "a time such as 10s or 500ms";
static const uint64_t WAIT_DEFAULT_NS = 20000000000;

/* ---- values ---- */

static bool has_letters_of(const char *text, const char *allowed)
{
    return text[0] && strspn(text, allowed) == strlen(text) && strlen(text) < CAPTURE_NAME_BYTES;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

static const char token_letters[] = LETTERS DIGITS "._~+/=-", a_token[] = "letters and digits";

static int take_text(const char *option, const char *allowed, const char *expected, const char **out)
{
    if (!has_letters_of(optarg, allowed))
        return strobe_complain("capture: %s %s: expected %s", option, optarg, expected);
    *out = optarg;
    return 0;
}

static int take_duration(const char *option, uint64_t *out)
{
    return strobe_parse_time(optarg, out) && *out
               ? 0
               : strobe_complain("capture: %s %s: expected %s", option, optarg, a_duration);
}

static int take_symbols(struct strobe_capture_request *q)
{
    if (q->symbol_count == CAPTURE_SYMBOLS_MAX)
        return strobe_complain("capture: at most %d times --symbols; it takes folders, too", CAPTURE_SYMBOLS_MAX);
    q->symbols[q->symbol_count++] = optarg;
    return 0;
}

static int take_capture_option(int c, struct strobe_capture_request *q)
{
    switch (c) {
    case 'a': return take_text("-a", LETTERS DIGITS "._", "the name of a package", &q->package);
    case 's': return take_text("-s", LETTERS DIGITS "._:-", "the serial of a device", &q->serial);
    case 't': return take_duration("-t", &q->duration_ns);
    case 'o': q->output = optarg; return *optarg ? 0 : strobe_complain("capture: -o: expected a file name");
    case 'f': q->replace = true; return 0;
    case 'q': q->quiet = true; return 0;
    case RESTART: q->restart = true; return 0;
    case LOCAL: return take_text("--local", LETTERS DIGITS "._:/@-", "the name of an abstract socket", &q->socket);
    case HOST: return take_text("--host", LETTERS DIGITS ".:[]-", "HOST:PORT", &q->address);
    case TOKEN: return take_text("--token", token_letters, a_token, &q->token);
    case WAIT: return take_duration("--wait", &q->wait_ns);
    case START: return take_text("--start", LETTERS DIGITS " ._/={}-", "options such as interval=1ms", &q->start);
    case MAPPING: q->mapping = optarg; return 0;
    case SYMBOLS: return take_symbols(q);
    case SYSTEM: return take_text("--system", LETTERS DIGITS ",_/", "categories such as sched,freq", &q->system);
    default: return STROBE_EXIT_BAD;
    }
}

/* ---- the whole ---- */

static int check_target(const struct strobe_capture_request *q)
{
    int targets = (q->package != NULL) + (q->socket != NULL) + (q->address != NULL);
    if (targets != 1)
        return strobe_complain("capture: %s: -a PACKAGE, --local SOCKET or --host HOST:PORT",
                               targets ? "one app at a time" : "which app?");
    if (!q->package && (q->restart || q->serial))
        return strobe_complain("capture: --restart and -s are for apps on a device (-a)");
    if (q->system && q->address)
        return strobe_complain("capture: --system is for apps on a device (-a) and of this machine (--local)");
    if (q->token && !q->address)
        return strobe_complain("capture: --token is for --host");
    if (q->address && !strrchr(q->address, ':'))
        return strobe_complain("capture: --host %s: expected HOST:PORT", q->address);
    return 0;
}

static int choose_output(struct strobe_capture_request *q)
{
    static const char session[] = ".strobe";
    if (!q->output)
        return strobe_complain("capture: where to? -o OUT");
    size_t n = strlen(q->output), end = sizeof session - 1;
    q->session_only = n > end && !strcmp(q->output + n - end, session);
    if (q->session_only)
        return 0;
    return strobe_choose_by_ending(q->output, ", .strobe (the session only)", "-o names the trace", &q->format);
}

static int take_token_of_environment(struct strobe_capture_request *q)
{
    const char *token = q->address && !q->token ? getenv("STROBE_TOKEN") : NULL;
    if (token && !has_letters_of(token, token_letters))
        return strobe_complain("capture: STROBE_TOKEN: expected %s", a_token);
    q->token = token ? token : q->token;
    return 0;
}

int strobe_capture_parse(int argc, char **argv, struct strobe_capture_request *out, bool *shown)
{
    static const struct option options[] = {
        {"app", required_argument, NULL, 'a'},
        {"serial", required_argument, NULL, 's'},
        {"restart", no_argument, NULL, RESTART},
        {"local", required_argument, NULL, LOCAL},
        {"host", required_argument, NULL, HOST},
        {"token", required_argument, NULL, TOKEN},
        {"time", required_argument, NULL, 't'},
        {"wait", required_argument, NULL, WAIT},
        {"start", required_argument, NULL, START},
        {"output", required_argument, NULL, 'o'},
        {"mapping", required_argument, NULL, MAPPING},
        {"symbols", required_argument, NULL, SYMBOLS},
        {"system", required_argument, NULL, SYSTEM},
        {"force", no_argument, NULL, 'f'},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *out = (struct strobe_capture_request){.wait_ns = WAIT_DEFAULT_NS};
    for (int c; (c = strobe_any_option(argc, argv, options)) != -1;) {
        *shown = c == 'h';
        int status = *shown ? strobe_print_usage(strobe_usage_capture) : take_capture_option(c, out);
        if (*shown || status)
            return status;
    }
    if (optind < argc)
        return strobe_complain("capture: %s: expected options only", argv[optind]);
    int status = check_target(out);
    if (!status)
        status = choose_output(out);
    return status ? status : take_token_of_environment(out);
}

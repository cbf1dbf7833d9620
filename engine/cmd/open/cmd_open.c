/* `strobe open`: shows a trace in the Perfetto UI, which runs in the browser and fetches the trace from this command.
 * As the trace processor's helper open_trace_in_ui does it:
 * https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui
 */
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/open/serve.h"
#include "engine/store/session.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

const char strobe_usage_open[] =
    "usage: strobe open [OPTIONS] TRACE\n"
    "\n"
    "Shows a trace in the Perfetto UI, https://ui.perfetto.dev, in the browser. The page fetches the\n"
    "trace from this command, which serves that one file on 127.0.0.1 and ends when it was fetched.\n"
    "The trace does not leave this machine. Ctrl-C ends the command before.\n"
    "\n"
    "TRACE is a file that the Perfetto UI reads: a Perfetto or JSON trace, ftrace text, systrace HTML;\n"
    "also compressed. `strobe convert` makes one of a session.\n"
    "\n"
    "      --no-browser   only print the address to open; xdg-open is not started\n"
    "      --ui URL       address of another copy of the UI (https://ui.perfetto.dev)\n"
    "      --port N       serve on this port; 0 = any free one. The public UI accepts 9001 only (9001)\n"
    "\n"
    "Exit status: 0 the trace was fetched, 2 bad use or bad input.\n";

enum { NO_BROWSER = 256, UI, PORT };
enum { PERFETTO_PORT = 9001, NAME_BYTES_MOST = 128, ORIGIN_BYTES_MOST = 256 };

struct open_request {
    const char *trace, *ui;
    int no_browser;
    uint16_t port;
};

/* Copies "https://host:port" of the address. Returns 0 when it has another form. */
static int copy_origin(const char *url, char *origin, size_t room)
{
    size_t scheme = !strncmp(url, "https://", 8) ? 8 : !strncmp(url, "http://", 7) ? 7 : 0;
    size_t host =
        scheme ? strspn(url + scheme, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]") : 0;
    const char *rest = url + scheme + host;
    if (!host || scheme + host >= room || (*rest && *rest != '/'))
        return 0;
    for (; *rest; rest++)
        if (*rest <= ' ' || *rest > '~' || strchr("\"'<>#?\\", *rest))
            return 0;
    memcpy(origin, url, scheme + host);
    origin[scheme + host] = 0;
    return 1;
}

/* Returns 1 when the Perfetto UI reads files that begin with these bytes. */
static int begins_as_trace(const unsigned char *head, size_t bytes)
{
    static const char *const begins[] = {"\n", "{", "[",      "\x1f\x8b", "PK",
                                         "# ", "<", "TRACE:", "PERFILE2", "SIMPLEPERF"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (bytes >= strlen(begins[i]) && !memcmp(head, begins[i], strlen(begins[i])))
            return 1;
    return 0;
}

/* Opens the trace. Returns 0, or STROBE_EXIT_BAD after a complaint. */
static int open_trace_file(const char *path, struct strobe_serve *s)
{
    unsigned char head[16];
    struct stat is;
    s->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->file < 0 || fstat(s->file, &is))
        return strobe_complain("%s: %s", path, strerror(errno));
    if (!S_ISREG(is.st_mode))
        return strobe_complain("%s: expected a file with a trace%s", path, S_ISDIR(is.st_mode) ? ", not a folder" : "");
    ssize_t got = pread(s->file, head, sizeof head, 0);
    if (got < 0)
        return strobe_complain("%s: %s", path, strerror(errno));
    if (got == 0)
        return strobe_complain("%s: empty, expected a trace", path);
    if ((size_t)got >= sizeof STROBE_SESSION_MAGIC - 1 &&
        !memcmp(head, STROBE_SESSION_MAGIC, sizeof STROBE_SESSION_MAGIC - 1))
        return strobe_complain("%s: a session, which `strobe convert` makes a trace of", path);
    if (!begins_as_trace(head, (size_t)got))
        return strobe_complain("%s: expected a Perfetto or JSON trace, ftrace text or systrace HTML", path);
    s->bytes = (uint64_t)is.st_size;
    return 0;
}

/* Makes the path of the URL: the file's name, with _ for characters that a URL would have to escape. */
static void name_url_path(const char *trace, char path[NAME_BYTES_MOST])
{
    const char *slash = strrchr(trace, '/'), *name = slash ? slash + 1 : trace;
    size_t n = 0;
    path[n++] = '/';
    for (; *name && n < NAME_BYTES_MOST - 1; name++)
        path[n++] = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                            (*name >= '0' && *name <= '9') || strchr(".-_", *name)
                        ? *name
                        : '_';
    path[n] = 0;
}

/* Starts the browser. Returns 0, or an error number. */
static int start_browser(const char *address)
{
    char *const words[] = {"xdg-open", (char *)address, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    for (int fd = 0; fd <= 2 && !error; fd++)
        error = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    if (!error)
        error = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int serve_trace(const struct open_request *q, struct strobe_serve *s)
{
    char path[NAME_BYTES_MOST], origin[ORIGIN_BYTES_MOST], address[1024];
    if (!copy_origin(q->ui, origin, sizeof origin))
        return strobe_complain("open: --ui %s: expected an address such as https://ui.perfetto.dev", q->ui);
    int bad = open_trace_file(q->trace, s);
    if (bad)
        return bad;
    s->port = q->port;
    s->path = path;
    s->origin = origin;
    s->listener = strobe_serve_listen(&s->port);
    if (s->listener < 0)
        return strobe_complain("open: cannot serve on 127.0.0.1:%u: %s", q->port, strerror(errno));
    name_url_path(q->trace, path);
    const char *end = q->ui[strlen(q->ui) - 1] == '/' ? "" : "/";
    int n = snprintf(address, sizeof address, "%s%s#!/?url=http://127.0.0.1:%u%s&referrer=open_trace_in_ui", q->ui, end,
                     s->port, path);
    if (n < 0 || (size_t)n >= sizeof address)
        return strobe_complain("open: --ui: expected a shorter address");
    strobe_output_begin();
    printf("%s\n", address);
    int status = strobe_output_end(STROBE_EXIT_OK);
    if (status)
        return status;
    signal(SIGCHLD, SIG_IGN); /* the end of xdg-open leaves no zombie */
    int error = q->no_browser ? 0 : start_browser(address);
    if (error)
        strobe_complain("open: no browser was started (xdg-open: %s); open the address above", strerror(error));
    if (strobe_serve_once(s))
        return strobe_complain("%s: cannot be served: %s", q->trace, strerror(errno));
    return STROBE_EXIT_OK;
}

int strobe_cmd_open(int argc, char **argv)
{
    static const struct option options[] = {
        {"no-browser", no_argument, NULL, NO_BROWSER},
        {"ui", required_argument, NULL, UI},
        {"port", required_argument, NULL, PORT},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct open_request q = {.ui = "https://ui.perfetto.dev", .port = PERFETTO_PORT};
    struct strobe_serve serve = {.listener = -1, .file = -1};
    uint64_t n;
    for (int c; (c = strobe_any_option(argc, argv, options)) != -1;) {
        switch (c) {
        case 'h': return strobe_print_usage(strobe_usage_open);
        case NO_BROWSER: q.no_browser = 1; break;
        case UI: q.ui = optarg; break;
        case PORT:
            if (!strobe_parse_number(optarg, UINT16_MAX, &n))
                return strobe_complain("open: --port %s: expected a number from 0 to %d", optarg, UINT16_MAX);
            q.port = (uint16_t)n;
            break;
        default: return STROBE_EXIT_BAD;
        }
    }
    if (optind == argc)
        return strobe_complain("open: which trace? strobe open [OPTIONS] TRACE");
    if (argc - optind > 1)
        return strobe_complain("open: one trace at a time, not %s too", argv[optind + 1]);
    q.trace = argv[optind];
    int status = serve_trace(&q, &serve);
    if (serve.file >= 0)
        close(serve.file);
    if (serve.listener >= 0)
        close(serve.listener);
    return status;
}

/* `strobe capture`: captures a running app through its control server. */
#include "engine/cmd/arguments.h"
#include "engine/cmd/capture/capture.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/interrupts.h"
#include "engine/trace/symbols/dsym.h"
#include "engine/trace/symbols/symbolize.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---- */

/* The names of the files that a capture makes. */
struct capture_files {
    char stem[PATH_MAX]; /* of the output, without its ending */
    char session[PATH_MAX], perfetto[PATH_MAX], atrace[PATH_MAX];
    bool has_perfetto; /* the system's trace has been fetched, to `perfetto` */
};

/* The session and the system's trace are beside the trace, under its name with other endings. */
static int name_files(const struct strobe_capture_request *q, struct capture_files *f)
{
    enum strobe_format format;
    size_t end = q->session_only ? strlen(".strobe") : strobe_trace_ending(q->output, &format);
    int n = snprintf(f->stem, sizeof f->stem, "%.*s", (int)(strlen(q->output) - end), q->output);
    if (n >= PATH_MAX || snprintf(f->session, PATH_MAX, "%s.strobe", f->stem) >= PATH_MAX ||
        !strobe_system_name(f->stem, true, f->perfetto) || !strobe_system_name(f->stem, false, f->atrace))
        return strobe_complain("capture: output name is too long");
    const char *const names[] = {f->session, q->output, q->system ? f->perfetto : NULL, q->system ? f->atrace : NULL};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i] && !q->replace && access(names[i], F_OK) == 0)
            return strobe_complain("%s: exists already; --force overwrites it", names[i]);
    return 0;
}

static int rename_methods(const struct strobe_capture_request *q, const char *session)
{
    struct strobe_error error = {""};
    struct strobe_mapping *mapping;
    struct strobe_symbolized made;
    if (strobe_mapping_read(q->mapping, &mapping, &error) != STROBE_OK)
        return strobe_complain("%s", error.text);
    enum strobe_status status = strobe_symbolize(session, session, mapping, 1, &made, &error);
    strobe_mapping_free(mapping);
    return status == STROBE_OK ? 0 : strobe_complain("%s", error.text[0] ? error.text : strobe_status_text(status));
}

static int add_symbols(const struct strobe_capture_request *q, const char *session)
{
    struct strobe_error error = {""};
    struct strobe_dsym_found found;
    if (strobe_dsym(session, session, q->symbols, q->symbol_count, 1, &found, &error) != STROBE_OK)
        return strobe_complain("%s", error.text);
    return 0;
}

/* One Perfetto trace shows both. For a trace of another format, and in a pipe, the system's trace stays beside it. */
static int join_system_trace(const struct strobe_capture_request *q, const struct capture_files *files)
{
    struct stat there;
    if (!files->has_perfetto || q->format != STROBE_FORMAT_PERFETTO || stat(q->output, &there) != 0 ||
        !S_ISREG(there.st_mode))
        return 0;
    if (strobe_system_append(files->perfetto, q->output) == STROBE_OK)
        return 0;
    return strobe_complain("%s: cannot append %s: %s", q->output, files->perfetto, strerror(errno));
}

/* Makes the trace from the session, which stays when that fails. */
static int finish_files(const struct strobe_capture_request *q, const struct capture_files *files)
{
    const char *session = files->session;
    struct strobe_convert_options how = {.format = q->format, .replace = q->replace};
    struct strobe_convert_stats stats;
    struct strobe_error error;
    int failed = q->mapping ? rename_methods(q, session) : 0;
    if (!failed && q->symbol_count)
        failed = add_symbols(q, session);
    if (failed || q->session_only)
        return failed;
    if (strobe_convert(session, q->output, &how, &stats, &error) != STROBE_OK)
        return strobe_complain("%s", error.text);
    if (!q->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "strobe: %s: %llu threads, %llu slices\n", q->output, (unsigned long long)stats.threads,
                (unsigned long long)stats.slices);
    if (!q->quiet)
        strobe_convert_print_nameless(&stats, stderr);
    return join_system_trace(q, files);
}

/* ---- the capture ---- */

/* Waits until the duration has passed, Enter is pressed, or a signal arrives, which ends the capture as Enter does. At
 * the end of standard input, only the other two count. */
static void wait_for_capture_end(const struct strobe_capture_request *q, struct strobe_interrupt *interrupt)
{
    uint64_t until = strobe_interrupts_now_ns() + q->duration_ns;
    struct pollfd fds[] = {{interrupt->fd, POLLIN, 0}, {q->duration_ns ? -1 : STDIN_FILENO, POLLIN, 0}};
    for (char c = 0; c != '\n';) {
        uint64_t now = strobe_interrupts_now_ns();
        if (q->duration_ns && now >= until)
            return;
        int ms = q->duration_ns ? (int)((until - now) / 1000000 + 1) : -1;
        if (poll(fds, 2, ms) <= 0)
            continue;
        if (fds[0].revents && strobe_interrupt_read(interrupt)) {
            interrupt->number = 0;
            return;
        }
        if (fds[1].revents && read(STDIN_FILENO, &c, 1) <= 0)
            fds[1].fd = -1;
    }
}

static void fetch_system_trace(struct strobe_capture_target *t, struct capture_files *files)
{
    const struct strobe_capture_request *q = t->request;
    char path[PATH_MAX];
    if (!strobe_system_fetch(&t->system, files->stem, q->replace, path))
        return;
    files->has_perfetto = t->system.has_perfetto;
    if (!q->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "strobe: %s: the system's trace\n", path);
}

static int capture_session(struct strobe_capture_target *t, struct capture_files *files)
{
    const struct strobe_capture_request *q = t->request;
    int failed = strobe_capture_open(t, files->session);
    if (failed || (failed = strobe_capture_reach(t)) != 0)
        return failed;
    if (q->system && !q->restart)
        strobe_system_begin(&t->system, q->system);
    if ((failed = strobe_capture_begin(t)) != 0)
        return failed;
    if (!q->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, q->duration_ns ? "strobe: capturing\n" : "strobe: capturing; Enter ends it\n");
    wait_for_capture_end(q, t->interrupt);
    if ((failed = strobe_capture_end(t)) != 0)
        return failed;
    strobe_system_end(&t->system);
    failed = strobe_capture_fetch(t);
    if (!failed)
        fetch_system_trace(t, files);
    return failed;
}

/* Ends this process by the signal that interrupted it. */
static int end_by_signal(int number)
{
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    signal(number, SIG_DFL);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    return 128 + number;
}

int strobe_cmd_capture(int argc, char **argv)
{
    struct strobe_capture_request q;
    struct strobe_interrupt interrupt;
    static struct capture_files files;
    bool shown = false;
    int status = strobe_capture_parse(argc, argv, &q, &shown);
    if (status || shown || (status = name_files(&q, &files)) != 0)
        return status;
    if ((errno = strobe_interrupt_take(&interrupt)) != 0)
        return strobe_complain("capture: %s", strerror(errno));
    strobe_output_begin();
    struct strobe_capture_target t = {
        .request = &q,
        .interrupt = &interrupt,
        .adb = {q.serial, &interrupt},
        .client = {q.socket, q.address, q.token, &interrupt},
    };
    t.system.adb = q.package ? &t.adb : NULL;
    status = capture_session(&t, &files);
    strobe_capture_leave(&t);
    if (status)
        return interrupt.number ? end_by_signal(interrupt.number) : status;
    strobe_interrupts_clean(0);
    strobe_interrupt_give_back(&interrupt);
    return finish_files(&q, &files);
}

#include "engine/cmd/report_page.h"

#include "engine/cmd/cmd.h"
#include "engine/cmd/interrupts.h"
#include "engine/trace/export/html/page.h"
#include "engine/trace/export/html/page_session.h"
#include "engine/util/json.h"
#include "engine/util/outfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Threads beyond this number are not in the tables of a page: those with least CPU time. */
enum { PAGE_THREADS_MOST = 1000 };

struct report_page {
    const char *path;
    struct strobe_report *report;
    struct strobe_findings *findings;
    struct strobe_page_session *session;
    size_t thread_count; /* of the session */
};

int strobe_page_create(struct strobe_outfile *out, const char *output, bool force)
{
    enum strobe_status status = strobe_outfile_open(out, output, force);
    if (status == STROBE_EXISTS)
        return strobe_complain("%s: exists already; --force overwrites it", output);
    return status == STROBE_OK ? 0 : strobe_complain("%s: cannot write: %s", output, strerror(errno));
}

int strobe_page_finish(struct strobe_outfile *out, const char *output, enum strobe_status drawn)
{
    enum strobe_status status = strobe_outfile_finish(out, drawn != STROBE_OK);
    if (drawn != STROBE_OK)
        return strobe_complain("%s: out of memory", output);
    if (status != STROBE_OK && errno == EPIPE)
        return strobe_end_of_pipe();
    return status == STROBE_OK ? 0 : strobe_complain("%s: cannot write: %s", output, strerror(errno));
}

static void write_page_about(void *ctx, FILE *out)
{
    const struct report_page *p = ctx;
    struct strobe_json j = {.out = out, .one_line = 1};
    strobe_json_object(&j, NULL);
    strobe_json_text(&j, "page", "report");
    strobe_json_text(&j, "file", p->path);
    strobe_json_text(&j, "version", STROBE_VERSION);
    strobe_json_uint(&j, "thread_count", p->thread_count);
    strobe_json_object_end(&j);
}

static void write_page_report(void *ctx, FILE *out)
{
    strobe_report_print_json(((struct report_page *)ctx)->report, out);
}

static void write_page_findings(void *ctx, FILE *out)
{
    const struct report_page *p = ctx;
    strobe_findings_print_json(p->findings, p->path, out);
}

static void write_page_session(void *ctx, FILE *out)
{
    strobe_page_session_print(((struct report_page *)ctx)->session, out);
}

static enum strobe_status write_report_page(struct report_page *p, struct strobe_outfile *out)
{
    const struct strobe_page_part parts[] = {{"about", write_page_about, p},
                                             {"report", write_page_report, p},
                                             {"findings", write_page_findings, p},
                                             {"session", write_page_session, p}};
    const char *file = strrchr(p->path, '/');
    char title[256];
    snprintf(title, sizeof title, "%s - Strobe", file && file[1] ? file + 1 : p->path);
    enum strobe_status status = strobe_page_write(out, title, parts, sizeof parts / sizeof *parts);
    return status == STROBE_OK ? strobe_page_session_status(p->session) : status;
}

static int read_page_inputs(struct report_page *p, const struct strobe_report_options *options,
                            const struct strobe_findings_options *search)
{
    struct strobe_error error = {""};
    enum strobe_status status = strobe_report_session(p->path, options, &p->report, &error);
    if (status == STROBE_OK)
        status = strobe_findings_of_session(p->path, search, &p->findings, &error);
    if (status == STROBE_OK)
        status = strobe_page_session_open(p->path, options, &p->session, &error);
    if (status != STROBE_OK)
        return strobe_complain("%s: %s", p->path, error.text[0] ? error.text : strobe_status_text(status));
    p->thread_count = p->report->thread_count;
    if (p->report->thread_count > PAGE_THREADS_MOST)
        p->report->thread_count = PAGE_THREADS_MOST;
    return 0;
}

int strobe_report_page(const char *path, const struct strobe_report_options *options,
                       const struct strobe_findings_options *search, const char *output, bool force)
{
    struct report_page p = {.path = path};
    struct strobe_outfile out;
    int status = read_page_inputs(&p, options, search);
    strobe_output_begin();
    strobe_interrupts_clean(0);
    if (!status)
        status = strobe_page_create(&out, output, force);
    if (!status) {
        status = strobe_page_finish(&out, output, write_report_page(&p, &out));
        if (!status && isatty(STDERR_FILENO)) /* messages of success appear on a terminal only */
            fprintf(stderr, "%s: %.1f MB; open it in a browser\n", output, (double)out.bytes / 1e6);
    }
    if (!status)
        status = p.report->balanced ? STROBE_EXIT_OK : STROBE_EXIT_CHECK;
    strobe_page_session_close(p.session);
    strobe_findings_close(p.findings);
    strobe_report_close(p.report);
    return status;
}

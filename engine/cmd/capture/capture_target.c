#include "engine/cmd/capture/capture.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/interrupts.h"
#include "engine/cmd/progress.h"
#include "engine/util/outfile.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

static const uint64_t RETRY_NS = 200000000;

/* Returns false when a signal ended the pause. */
static bool pause_before_retry(struct strobe_capture_target *t)
{
    struct pollfd fd = {t->interrupt->fd, POLLIN, 0};
    return poll(&fd, 1, (int)(RETRY_NS / 1000000)) <= 0 || !strobe_interrupt_read(t->interrupt);
}

/* ---- the app ---- */

static int wait_for_process(struct strobe_capture_target *t, uint64_t until_ns, int *pid)
{
    for (;;) {
        int failed = strobe_adb_find_process(&t->adb, t->request->package, pid);
        if (failed || *pid)
            return failed;
        if (strobe_interrupts_now_ns() >= until_ns)
            return strobe_complain("capture: %s: does not run%s", t->request->package,
                                   t->request->restart ? ", although it was started" : " (--restart starts it)");
        if (!pause_before_retry(t))
            return STROBE_EXIT_BAD;
    }
}

/* Asks for a capture with a control server at the app's next start, and starts it. */
static int restart_app(struct strobe_capture_target *t)
{
    char value[ADB_PROPERTY_BYTES];
    const struct strobe_capture_request *q = t->request;
    int n = snprintf(value, sizeof value, "%s control=strobe.{pid} %s", q->package, q->start ? q->start : "");
    if (n >= (int)sizeof value)
        return strobe_complain("capture: --start: the package's name and the options together exceed %d bytes, which "
                               "is the limit of a system property",
                               ADB_PROPERTY_BYTES - 1);
    int failed = strobe_adb_get_start(&t->adb, t->property);
    if (failed)
        return failed;
    t->property_set = true;
    if ((failed = strobe_adb_set_start(&t->adb, value)) != 0)
        return failed;
    t->began = true;
    if (q->system) /* before the app, whose start it shows, too */
        strobe_system_begin(&t->system, q->system);
    return strobe_adb_restart(&t->adb, q->package);
}

static int reach_device(struct strobe_capture_target *t)
{
    char socket[32];
    int pid = 0, failed = strobe_adb_find(&t->adb);
    if (failed || (failed = strobe_adb_check_app(&t->adb, t->request->package)) != 0)
        return failed;
    if (t->request->restart && (failed = restart_app(t)) != 0)
        return failed;
    if ((failed = wait_for_process(t, strobe_interrupts_now_ns() + t->request->wait_ns, &pid)) != 0)
        return failed;
    if (!t->request->restart && (failed = strobe_adb_check_library(&t->adb, t->request->package, pid)) != 0)
        return failed;
    snprintf(socket, sizeof socket, "strobe.%d", pid);
    if ((failed = strobe_adb_forward(&t->adb, socket, &t->port)) != 0)
        return failed;
    snprintf(t->address, sizeof t->address, "127.0.0.1:%d", t->port);
    t->client.address = t->address;
    return 0;
}

/* ---- the server ---- */

static int send_to(struct strobe_capture_target *t, const char *method, const char *target, const char *body,
                   struct strobe_program_result *out)
{
    enum strobe_reply reply = strobe_client_send(&t->client, method, target, body, NULL, out);
    return reply == STROBE_REPLY_OK ? 0 : strobe_client_complain(&t->client, reply, out);
}

static int wait_for_server(struct strobe_capture_target *t, uint64_t until_ns)
{
    struct strobe_program_result r;
    for (;;) {
        enum strobe_reply reply = strobe_client_send(&t->client, "GET", "/status", NULL, NULL, &r);
        if (reply == STROBE_REPLY_OK)
            return 0;
        if (reply != STROBE_REPLY_NO_SERVER)
            return strobe_client_complain(&t->client, reply, &r);
        if (strobe_interrupts_now_ns() >= until_ns && t->request->package)
            return strobe_complain("capture: %s: no control server answers%s", t->request->package,
                                   t->request->restart ? "" : " (--restart starts the app with one)");
        if (strobe_interrupts_now_ns() >= until_ns)
            return strobe_client_complain(&t->client, reply, &r);
        if (!pause_before_retry(t))
            return STROBE_EXIT_BAD;
    }
}

int strobe_capture_reach(struct strobe_capture_target *t)
{
    int failed = t->request->package ? reach_device(t) : 0;
    if (failed)
        return failed;
    failed = wait_for_server(t, strobe_interrupts_now_ns() + t->request->wait_ns);
    if (!failed && t->property_set) { /* at once, because the device may be lost later */
        t->property_set = false;
        failed = strobe_adb_set_start(&t->adb, t->property);
    }
    return failed;
}

/* ---- the capture ---- */

int strobe_capture_begin(struct strobe_capture_target *t)
{
    struct strobe_program_result r;
    t->begin_ns = strobe_interrupts_now_ns();
    if (t->began)
        return 0;
    int failed = send_to(t, "GET", "/status", NULL, &r);
    if (failed || strstr(r.output, "\"running\"") || strstr(r.output, "\"paused\""))
        return failed;
    failed = send_to(t, "POST", "/start", t->request->start ? t->request->start : "", &r);
    t->began = !failed;
    return failed;
}

int strobe_capture_end(struct strobe_capture_target *t)
{
    struct strobe_program_result r;
    if (!t->began) {
        t->last_ms = (strobe_interrupts_now_ns() - t->begin_ns) / 1000000 + 1;
        return 0;
    }
    t->began = false;
    return send_to(t, "POST", "/stop", "", &r);
}

/* ---- the session ---- */

int strobe_capture_open(struct strobe_capture_target *t, const char *path)
{
    enum strobe_status status = strobe_outfile_open(&t->file, path, t->request->replace);
    t->path = status == STROBE_OK ? path : NULL;
    if (status == STROBE_EXISTS)
        return strobe_complain("%s: exists already; --force overwrites it", path);
    return status == STROBE_OK ? 0 : strobe_complain("%s: %s", path, strerror(errno));
}

struct fetch {
    struct strobe_outfile *file;
    struct strobe_progress progress;
};

static void take_session_part(void *ctx, const void *data, size_t bytes)
{
    struct fetch *f = ctx;
    char shown[32];
    strobe_outfile_write(f->file, data, bytes);
    snprintf(shown, sizeof shown, "%.1f MB", (double)f->file->bytes / 1e6);
    strobe_progress_share(&f->progress, -1, shown);
}

int strobe_capture_fetch(struct strobe_capture_target *t)
{
    struct fetch f = {.file = &t->file};
    struct strobe_program_result r;
    const char *path = t->path;
    char target[64] = "/session";
    if (t->last_ms)
        snprintf(target, sizeof target, "/session?last=%" PRIu64 "ms", t->last_ms);
    strobe_progress_begin(&f.progress, "fetching");
    enum strobe_reply reply =
        strobe_client_send(&t->client, "GET", target, NULL, &(struct strobe_program_sink){take_session_part, &f}, &r);
    strobe_progress_end(&f.progress);
    t->path = NULL;
    enum strobe_status status = strobe_outfile_finish(&t->file, reply != STROBE_REPLY_OK);
    if (reply != STROBE_REPLY_OK)
        return strobe_client_complain(&t->client, reply, &r);
    return status == STROBE_OK ? 0 : strobe_complain("%s: %s", path, strerror(errno));
}

void strobe_capture_leave(struct strobe_capture_target *t)
{
    struct strobe_program_result r;
    t->adb.interrupt = t->client.interrupt = NULL;
    strobe_system_leave(&t->system);
    if (t->began && (t->client.socket || t->client.address)) /* a failure was reported already */
        strobe_client_send(&t->client, "POST", "/stop", "", NULL, &r);
    if (t->property_set)
        strobe_adb_set_start(&t->adb, t->property);
    if (t->port)
        strobe_adb_unforward(&t->adb, t->port);
    if (t->path)
        strobe_outfile_finish(&t->file, 1);
    t->property_set = false;
    t->port = 0;
    t->path = NULL;
}

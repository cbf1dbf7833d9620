#include "engine/backend/common/embed/control.h"

#include "engine/backend/common/embed/capture_api.h"
#include "engine/backend/common/embed/flight_capture.h"
#include "engine/backend/common/embed/start_text.h"
#include "engine/store/session_copy.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { NONE, OPEN, STARTING, SERVING, APART };
enum { STEP_NS = 200 * 1000, STEPS = 25000, PATH_BYTES = STROBE_START_PATH_BYTES + 16 };

static struct strobe_control_server server;
static const struct strobe_control_host *control_host;
static strobe_a32 control_stage;

/* ---- the actions */

static void read_control_status(void *ctx, struct strobe_control_status *out)
{
    static const char *const names[] = {[STROBE_CAPTURE_IDLE] = "idle",
                                        [STROBE_CAPTURE_RUNNING] = "running",
                                        [STROBE_CAPTURE_PAUSED] = "paused",
                                        [STROBE_CAPTURE_STOPPED] = "stopped"};
    static struct strobe_flight_status flight; /* the text must outlive the call */
    struct strobe_capture_status s;
    struct strobe_capture_view view;
    (void)ctx;
    strobe_get_status(&s);
    strobe_get_flight_status(&flight);
    bool any = strobe_capture_pin(&view);
    strobe_capture_unpin();
    *out = (struct strobe_control_status){
        .state = names[s.state],
        .path = any ? view.path : "",
        .session = any ? view.id : 0,
        .pid = (uint32_t)getpid(),
        .threads = s.threads,
        .samples = s.samples,
        .lost = s.lost,
        .annotations = s.annotations,
        .session_bytes = s.session_bytes,
        .armed = flight.armed,
        .dumps = flight.dumps,
        .refused = flight.refused,
        .writing = flight.writing,
        .cause = flight.cause,
        .bytes_today = flight.bytes_today,
        .last_dump = flight.last,
    };
}

/* Without path=, the new session replaces the last one. */
static enum strobe_status start_by_text(void *ctx, const char *text, struct strobe_error *error)
{
    static struct strobe_start_texts texts;
    struct strobe_capture_options options = {0};
    struct strobe_capture_view last;
    (void)ctx;
    enum strobe_status status = strobe_read_start_text(text, (uint32_t)getpid(), &texts, &options, error);
    if (status != STROBE_OK)
        return status;
    if (options.control || options.control_port) {
        strobe_error_join(error, "control", "expected no option of the server, which runs already");
        return STROBE_BAD_INPUT;
    }
    bool any = strobe_capture_pin(&last);
    if (any && !options.session_path && !options.flight && last.path[0]) {
        memcpy(texts.path, last.path, strlen(last.path) + 1);
        options.session_path = texts.path;
        options.replace = 1;
    }
    strobe_capture_unpin();
    return strobe_start(&options, error);
}

static enum strobe_status change_by_control(enum strobe_status (*change)(void), struct strobe_error *error)
{
    enum strobe_status status = change();
    if (status == STROBE_NO_ENTRY)
        strobe_error_join(error, "", "no capture is running or paused");
    return status;
}

static enum strobe_status stop_by_control(void *ctx, struct strobe_error *error)
{
    (void)ctx;
    enum strobe_status status = control_host->stop(error);
    if (status == STROBE_NO_ENTRY)
        strobe_error_join(error, "", "no capture is running or paused");
    if (status == STROBE_LATE)
        strobe_error_join(error, "", "a thread stays inside the engine: the session is complete but not marked closed");
    return status;
}

static enum strobe_status pause_by_control(void *ctx, struct strobe_error *error)
{
    (void)ctx;
    return change_by_control(strobe_pause, error);
}

static enum strobe_status resume_by_control(void *ctx, struct strobe_error *error)
{
    (void)ctx;
    return change_by_control(strobe_resume, error);
}

/* ---- copies of sessions */

static enum strobe_status copy_pinned(const struct strobe_session *s, uint64_t last_ns,
                                      struct strobe_control_bytes *out, struct strobe_error *error)
{
    void *memory;
    uint64_t since = strobe_session_ticks_since(s->header, control_host->ticks(), last_ns);
    enum strobe_status status = strobe_session_copy_map(s, since, UINT64_MAX, &memory, &out->bytes);
    if (status == STROBE_UNSUPPORTED)
        strobe_error_join(error, "", "a session with a log of calls is not sent: read its file after the capture");
    out->at = status == STROBE_OK ? memory : NULL;
    return status;
}

static enum strobe_status copy_by_control(void *ctx, uint32_t id, uint64_t last_ns, struct strobe_control_bytes *out,
                                          struct strobe_error *error)
{
    struct strobe_capture_view view;
    (void)ctx;
    if (control_host->complete)
        control_host->complete(); /* may wait, which a pinned session does not allow */
    bool any = strobe_capture_pin(&view), wanted = any && (!id || id == view.id);
    enum strobe_status status = wanted ? copy_pinned(view.session, last_ns, out, error) : STROBE_NO_ENTRY;
    strobe_capture_unpin();
    if (!wanted)
        strobe_error_join(error, "",
                          any ? "only the newest session is sent: /status has its id" : "there is no session");
    return status;
}

static enum strobe_status dump_by_control(void *ctx, struct strobe_error *error)
{
    (void)ctx;
    enum strobe_status status = strobe_flight_request(STROBE_TRIGGER_CONTROL);
    if (status == STROBE_NO_ENTRY)
        strobe_error_join(error, "", "there is no flight recorder");
    if (status == STROBE_UNSUPPORTED)
        strobe_error_join(error, "", "the flight recorder's configuration does not have the trigger control");
    return status;
}

static void release_session_copy(void *ctx, struct strobe_control_bytes *bytes)
{
    (void)ctx;
    munmap(bytes->at, bytes->bytes);
}

static bool describe_feature(void *ctx, uint32_t index, char *out, size_t bytes)
{
    return control_host->feature(ctx, index, out, bytes);
}

static const struct strobe_control_actions control_actions = {
    .status = read_control_status,
    .feature = describe_feature,
    .start = start_by_text,
    .stop = stop_by_control,
    .pause = pause_by_control,
    .resume = resume_by_control,
    .dump = dump_by_control,
    .copy = copy_by_control,
    .release = release_session_copy,
};

/* ---- start */

enum strobe_status strobe_control_prepare(const struct strobe_capture_options *o,
                                          const struct strobe_control_host *host, struct strobe_error *error)
{
    struct strobe_control_options options = {
        .actions = &control_actions, .idle_ms = host->idle_ms, .raise = host->raise};
    if ((!o->control && !o->control_port) || strobe_load_acquire(&control_stage) != NONE)
        return STROBE_OK;
    if (o->control)
        memcpy(options.address.name, o->control, strlen(o->control) + 1);
    else
        options.address.port = (uint16_t)(o->control_port > 0 ? o->control_port : 0);
    options.access.uid = (uint32_t)geteuid();
    options.access.shell = host->admits_shell && host->admits_shell();
    control_host = host;
    enum strobe_status status = strobe_control_open(&server, &options, error);
    if (status == STROBE_OK)
        strobe_store_release(&control_stage, OPEN);
    return status;
}

void strobe_control_abandon(void)
{
    if (strobe_load_acquire(&control_stage) != OPEN)
        return;
    strobe_control_forget(&server);
    strobe_store_release(&control_stage, NONE);
}

static void add_to_text(char *text, size_t *length, const char *more)
{
    size_t n = strlen(more);
    memcpy(text + *length, more, n);
    *length += n;
}

/* The file is a configuration for curl: with it, requests to any host go to the server, with the token. */
static void write_address_file(const char *session_path)
{
    char path[PATH_BYTES], text[256], digits[6] = "", *first = digits + 5;
    size_t n = strnlen(session_path, STROBE_START_PATH_BYTES), length = 0;
    memcpy(path, session_path, n);
    memcpy(path + n, ".control", sizeof ".control");
    for (unsigned rest = server.options.address.port; rest; rest /= 10)
        *--first = (char)('0' + rest % 10);
    add_to_text(text, &length, "connect-to = \"::127.0.0.1:");
    add_to_text(text, &length, first);
    add_to_text(text, &length, "\"\nheader = \"Authorization: Bearer ");
    add_to_text(text, &length, server.options.access.token);
    add_to_text(text, &length, "\"\n");
    unlink(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    (void)!write(fd, text, length);
    close(fd);
}

static void run_control_thread(void)
{
    bool apart = control_host->leave_table && control_host->leave_table(server.listener);
    strobe_store_release(&control_stage, apart ? APART : SERVING);
    strobe_control_serve(&server);
    strobe_store_release(&control_stage, NONE);
}

/* Waits while the stage is this one. Returns the present stage. */
static uint32_t wait_while_stage(uint32_t stage)
{
    struct timespec pause = {0, STEP_NS};
    for (int i = 0; i < STEPS && strobe_load_acquire(&control_stage) == stage; i++)
        nanosleep(&pause, NULL);
    return strobe_load_acquire(&control_stage);
}

void strobe_control_launch(const char *session_path)
{
    if (strobe_load_acquire(&control_stage) != OPEN)
        return;
    int listener = server.listener;
    if (!server.options.address.name[0])
        write_address_file(session_path);
    strobe_store_release(&control_stage, STARTING);
    if (!control_host->run_thread(run_control_thread)) {
        strobe_control_forget(&server);
        strobe_store_release(&control_stage, NONE);
    } else if (wait_while_stage(STARTING) == APART) {
        close(listener); /* the thread's table has it */
    }
}

/* ---- end */

void strobe_control_child(void)
{
    uint32_t stage = strobe_load_relaxed(&control_stage);
    if (stage == OPEN || stage == STARTING || stage == SERVING)
        strobe_control_forget(&server);
    strobe_store_relaxed(&control_stage, NONE);
}

static bool is_control_served(void)
{
    uint32_t stage = strobe_load_acquire(&control_stage);
    return stage == SERVING || stage == APART;
}

void strobe_control_end(void)
{
    if (!is_control_served())
        return;
    strobe_control_ask_to_end(&server);
    struct timespec pause = {0, STEP_NS};
    for (int i = 0; i < STEPS && is_control_served(); i++)
        nanosleep(&pause, NULL);
}

void strobe_control_look(void)
{
    if (is_control_served())
        strobe_control_wake(&server);
}

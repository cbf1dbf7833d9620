#include "engine/backend/common/embed/flight_capture.h"

#include "engine/backend/common/embed/capture_api.h"
#include "engine/base/error.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NONE, READY, RUNNING };
enum { END_STEP_NS = 200 * 1000, END_STEPS = 25000 };

static struct strobe_flight flight;
static struct strobe_flight_config prepared_config;
static const struct strobe_flight_backend *flight_backend;
static struct strobe_flight_host flight_host;
static strobe_a32 flight_stage;

/* ---- the recorder's surroundings */

static bool pin_published_session(const struct strobe_session **out)
{
    struct strobe_capture_view view;
    bool any = strobe_capture_pin(&view);
    *out = view.session;
    if (!any)
        strobe_capture_unpin();
    return any;
}

static uint64_t read_realtime_ns(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void run_flight_thread(void)
{
    strobe_flight_run(&flight, flight_backend->thread_id());
}

/* ---- start and end */

enum strobe_status strobe_flight_prepare(const struct strobe_capture_options *o,
                                         const struct strobe_flight_backend *backend, struct strobe_error *error)
{
    struct strobe_flight_device device = {.model = ""};
    if (!o->flight)
        return STROBE_OK;
    if (strobe_load_acquire(&flight.armed)) {
        strobe_error_join(error, "flight", "the last recorder's thread has not ended");
        return STROBE_EXISTS;
    }
    backend->read_device(&device);
    enum strobe_status status =
        strobe_flight_load_config(o->flight, (uint32_t)getpid(), &device, &prepared_config, error);
    if (status == STROBE_OK)
        status = strobe_dump_folder_open(&prepared_config.folder, error);
    if (status != STROBE_OK)
        return status;
    flight_backend = backend;
    flight_host = (struct strobe_flight_host){
        .pin = pin_published_session,
        .unpin = strobe_capture_unpin,
        .ticks = backend->ticks,
        .realtime_ns = read_realtime_ns,
        .wait = backend->wait,
        .wake = backend->wake,
        .idle_ms = backend->idle_ms,
        .blocked_on = backend->blocked_on,
        .refresh = backend->refresh,
        .complete = backend->complete,
    };
    strobe_store_release(&flight_stage, READY);
    return STROBE_OK;
}

void strobe_flight_abandon(void)
{
    uint32_t ready = READY;
    strobe_cas_release(&flight_stage, &ready, NONE);
}

void strobe_flight_begin(void)
{
    if (strobe_load_acquire(&flight_stage) != READY)
        return;
    strobe_flight_arm(&flight, &prepared_config, &flight_host);
    if (!flight_backend->run_thread(run_flight_thread)) {
        strobe_store_release(&flight.armed, 0);
        strobe_store_release(&flight_stage, NONE);
        return;
    }
    if (flight_backend->watch_signals)
        flight_backend->watch_signals(&flight);
    strobe_store_release(&flight_stage, RUNNING);
}

void strobe_flight_end(void)
{
    struct timespec pause = {0, END_STEP_NS};
    if (strobe_load_acquire(&flight_stage) != RUNNING)
        return;
    if (flight_backend->leave_signals)
        flight_backend->leave_signals();
    strobe_flight_ask_to_end(&flight);
    for (int i = 0; i < END_STEPS && strobe_load_acquire(&flight.armed); i++)
        nanosleep(&pause, NULL);
    if (flight_backend->end_thread && !strobe_load_acquire(&flight.armed))
        flight_backend->end_thread();
    strobe_store_release(&flight_stage, NONE);
}

void strobe_flight_child(void)
{
    strobe_store_relaxed(&flight.armed, 0);
    strobe_store_relaxed(&flight_stage, NONE);
}

void strobe_flight_pass(const struct strobe_session *session, uint64_t now)
{
    if (strobe_load_acquire(&flight_stage) == RUNNING)
        strobe_flight_look(&flight, session, now);
}

void strobe_flight_nudge(void)
{
    strobe_flight_recheck(&flight);
}

/* ---- the public functions */

enum strobe_status strobe_flight_request(enum strobe_trigger trigger)
{
    if (!strobe_load_acquire(&flight.armed))
        return STROBE_NO_ENTRY;
    return strobe_flight_ask(&flight, trigger) ? STROBE_OK : STROBE_UNSUPPORTED;
}

enum strobe_status strobe_dump(void)
{
    return strobe_flight_request(STROBE_TRIGGER_CALL);
}

static const char *name_trigger(enum strobe_trigger trigger)
{
    return trigger == STROBE_TRIGGER_NONE ? "" : strobe_trigger_name(trigger);
}

void strobe_get_flight_status(struct strobe_flight_status *out)
{
    struct strobe_flight_counts counts = strobe_flight_count(&flight, read_realtime_ns());
    *out = (struct strobe_flight_status){
        .armed = strobe_load_acquire(&flight.armed) != 0,
        .dumps = counts.dumps,
        .refused = counts.refused,
        .writing = name_trigger(counts.writing),
        .cause = name_trigger(counts.cause),
        .bytes_today = counts.bytes_today,
    };
    strobe_flight_last(&flight, out->last, sizeof out->last);
}

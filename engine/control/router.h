/* Answers requests: the second of the three parts of the control server (engine/control/server.h).
 *
 *   GET  /status               state of the capture, features, losses, bytes, as JSON
 *   POST /start                begins a capture; the body has its options
 *   POST /stop /pause /resume  the answer is the new status
 *   GET  /session              the present session, also while the capture goes on
 *   GET  /session/ID           the same, if its id is ID; /status has the id
 *   POST /snapshot             the same, to be called with last=
 *   POST /dump                 asks the flight recorder for a dump; the answer is the new status
 *
 * `last=5s` behind a question mark limits a session to the records that end in the last 5 seconds.
 *
 * Statuses: 400 the request or the options are not valid, 404 no such path or session, 405 another method, 409 the
 * capture is in another state, 500 a failure, 503 a transfer is under way. */
#ifndef STROBE_CONTROL_ROUTER_H
#define STROBE_CONTROL_ROUTER_H

#include "engine/base/status.h"
#include "engine/control/answer.h"
#include "engine/control/request.h"

struct strobe_control_status {
    const char *state; /* idle, running, paused, stopped */
    const char *path;  /* of the session's file; "" = not known */
    uint32_t session;  /* its id, from 1; 0 = there is none */
    uint32_t pid, threads;
    uint64_t samples, lost, annotations, session_bytes;
    bool armed;              /* there is a flight recorder */
    uint32_t dumps, refused; /* its dumps, and triggers without a dump */
    const char *writing;     /* the trigger of the dump that it is writing; "" = none */
    const char *cause;       /* the trigger of its last dump; "" = none */
    uint64_t bytes_today;    /* of its dumps */
    const char *last_dump;   /* the path of its last dump, or why there is none */
};

/* What the server may do. Functions are called by the server's thread, one at a time. A failure sets `error`. */
struct strobe_control_actions {
    void *ctx;
    void (*status)(void *ctx, struct strobe_control_status *out);
    /* Copies the line of feature `index` (0, 1, ...) to `out`. Returns false when there is none. */
    bool (*feature)(void *ctx, uint32_t index, char *out, size_t bytes);
    enum strobe_status (*start)(void *ctx, const char *options, struct strobe_error *error);
    enum strobe_status (*stop)(void *ctx, struct strobe_error *error);
    enum strobe_status (*pause)(void *ctx, struct strobe_error *error);
    enum strobe_status (*resume)(void *ctx, struct strobe_error *error);
    /* Copies the session `id`, or the present one when `id` is 0. `last_ns` 0: whole. */
    enum strobe_status (*copy)(void *ctx, uint32_t id, uint64_t last_ns, struct strobe_control_bytes *out,
                               struct strobe_error *error);
    void (*release)(void *ctx, struct strobe_control_bytes *bytes);
    /* Asks the flight recorder for a dump. STROBE_NO_ENTRY: there is none. */
    enum strobe_status (*dump)(void *ctx, struct strobe_error *error);
};

/* Answers a WHOLE request. With `transfers` false, a request for a session is refused with 503. When the answer has
 * bytes, the caller releases them. */
void strobe_control_route(const struct strobe_control_actions *actions, const struct strobe_request *request,
                          bool transfers, struct strobe_answer *answer);

#endif

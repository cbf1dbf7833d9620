#include "engine/control/router.h"

#include "engine/base/time_text.h"

#include <string.h>

enum { FEATURES_MAX = 32, FEATURE_BYTES = 160 };

static int http_status_of(enum strobe_status status)
{
    switch (status) {
    case STROBE_OK: return 200;
    case STROBE_BAD_INPUT: return 400;
    case STROBE_EXISTS:
    case STROBE_NO_ENTRY:
    case STROBE_UNSUPPORTED: return 409;
    default: return 500;
    }
}

/* ---- status */

static void add_text_member(struct strobe_answer *a, const char *name, const char *text)
{
    strobe_answer_add(a, ",\"");
    strobe_answer_add(a, name);
    strobe_answer_add(a, "\":");
    strobe_answer_add_string(a, text ? text : "");
}

static void add_number_member(struct strobe_answer *a, const char *name, uint64_t number)
{
    strobe_answer_add(a, ",\"");
    strobe_answer_add(a, name);
    strobe_answer_add(a, "\":");
    strobe_answer_add_number(a, number);
}

static void list_features(const struct strobe_control_actions *actions, struct strobe_answer *a)
{
    char line[FEATURE_BYTES];
    strobe_answer_add(a, ",\"features\":[");
    for (uint32_t i = 0; i < FEATURES_MAX && actions->feature(actions->ctx, i, line, sizeof line); i++) {
        strobe_answer_add(a, i ? "," : "");
        strobe_answer_add_string(a, line);
    }
    strobe_answer_add(a, "]");
}

static void list_dumps(const struct strobe_control_status *s, struct strobe_answer *a)
{
    strobe_answer_add(a, s->armed ? ",\"flight\":{\"armed\":true" : ",\"flight\":{\"armed\":false");
    add_number_member(a, "dumps", s->dumps);
    add_number_member(a, "refused", s->refused);
    add_text_member(a, "writing", s->writing);
    add_text_member(a, "cause", s->cause);
    add_number_member(a, "bytes_today", s->bytes_today);
    add_text_member(a, "last", s->last_dump);
    strobe_answer_add(a, "}");
}

static void answer_status(const struct strobe_control_actions *actions, struct strobe_answer *a)
{
    struct strobe_control_status s = {0};
    actions->status(actions->ctx, &s);
    strobe_answer_begin(a, 200);
    a->is_json = true;
    strobe_answer_add(a, "{\"state\":");
    strobe_answer_add_string(a, s.state);
    add_number_member(a, "session", s.session);
    add_text_member(a, "path", s.path);
    add_number_member(a, "pid", s.pid);
    add_number_member(a, "threads", s.threads);
    add_number_member(a, "samples", s.samples);
    add_number_member(a, "lost", s.lost);
    add_number_member(a, "annotations", s.annotations);
    add_number_member(a, "session_bytes", s.session_bytes);
    list_dumps(&s, a);
    list_features(actions, a);
    strobe_answer_add(a, "}\n");
    if (a->is_cut)
        strobe_answer_sentence(a, 500, "the status does not fit into an answer", "");
}

/* ---- start, stop, pause, resume */

static enum strobe_status start_as_body_says(const struct strobe_control_actions *actions,
                                             const struct strobe_request *r, struct strobe_error *error)
{
    return actions->start(actions->ctx, r->body.at, error);
}

static void answer_action(const struct strobe_control_actions *actions, const struct strobe_request *r,
                          enum strobe_status (*act)(void *, struct strobe_error *), struct strobe_answer *a)
{
    struct strobe_error error = {""};
    if (memchr(r->body.at, '\0', r->body.bytes)) {
        strobe_answer_sentence(a, 400, "expected options without NUL", "");
        return;
    }
    enum strobe_status status = act ? act(actions->ctx, &error) : start_as_body_says(actions, r, &error);
    if (status == STROBE_OK)
        answer_status(actions, a);
    else
        strobe_answer_sentence(a, http_status_of(status), error.text[0] ? error.text : strobe_status_text(status), "");
}

/* ---- sessions */

/* Reads `last=TIME`; without a query, 0. */
static bool read_last(struct strobe_request_part query, uint64_t *last_ns)
{
    *last_ns = 0;
    if (!query.at)
        return true;
    return query.bytes > 5 && !memcmp(query.at, "last=", 5) &&
           strobe_read_time(query.at + 5, query.bytes - 5, last_ns) && *last_ns;
}

/* Reads the id behind "/session/"; 0 for "/session" and "/snapshot". */
static bool read_session_id(struct strobe_request_part path, uint32_t *id)
{
    static const char head[] = "/session/";
    const size_t head_bytes = sizeof head - 1;
    uint64_t number;
    *id = 0;
    if (path.bytes < head_bytes || memcmp(path.at, head, head_bytes) != 0)
        return true;
    size_t digits = strobe_read_decimal(path.at + head_bytes, path.bytes - head_bytes, &number);
    *id = (uint32_t)number;
    return digits && digits == path.bytes - head_bytes && number && number <= UINT32_MAX;
}

static void answer_session(const struct strobe_control_actions *actions, const struct strobe_request *r, bool transfers,
                           struct strobe_answer *a)
{
    struct strobe_error error = {""};
    uint64_t last_ns;
    uint32_t id;
    if (!read_session_id(r->path, &id)) {
        strobe_answer_sentence(a, 404, "expected the id of a session, a number from 1", "");
        return;
    }
    if (!read_last(r->query, &last_ns)) {
        strobe_answer_sentence(a, 400, "expected last= and a time above 0 with a unit, such as last=5s", "");
        return;
    }
    if (!transfers) {
        strobe_answer_sentence(a, 503, "a transfer is under way: one session is sent at a time", "");
        return;
    }
    strobe_answer_begin(a, 200);
    enum strobe_status status = actions->copy(actions->ctx, id, last_ns, &a->bytes, &error);
    if (status == STROBE_OK)
        return;
    a->bytes = (struct strobe_control_bytes){0};
    int http = status == STROBE_NO_ENTRY ? 404 : http_status_of(status);
    strobe_answer_sentence(a, http, error.text[0] ? error.text : strobe_status_text(status), "");
}

/* ---- routes */

enum route { STATUS, START, STOP, PAUSE, RESUME, SESSION, SNAPSHOT, DUMP, ROUTES };

static const struct {
    const char *path;
    enum strobe_request_method method;
} routes[ROUTES] = {
    [STATUS] = {"/status", STROBE_METHOD_GET},      [START] = {"/start", STROBE_METHOD_POST},
    [STOP] = {"/stop", STROBE_METHOD_POST},         [PAUSE] = {"/pause", STROBE_METHOD_POST},
    [RESUME] = {"/resume", STROBE_METHOD_POST},     [SESSION] = {"/session", STROBE_METHOD_GET},
    [SNAPSHOT] = {"/snapshot", STROBE_METHOD_POST}, [DUMP] = {"/dump", STROBE_METHOD_POST},
};

static enum route find_route(struct strobe_request_part path)
{
    if (path.bytes > 9 && !memcmp(path.at, "/session/", 9))
        return SESSION;
    int route = 0;
    while (route < ROUTES && !strobe_request_part_is(path, routes[route].path))
        route++;
    return (enum route)route;
}

void strobe_control_route(const struct strobe_control_actions *actions, const struct strobe_request *r, bool transfers,
                          struct strobe_answer *a)
{
    enum route route = find_route(r->path);
    if (route == ROUTES)
        strobe_answer_sentence(a, 404,
                               "expected one of /status, /start, /stop, /pause, /resume, /session, /session/ID, "
                               "/snapshot, /dump",
                               "");
    else if (r->method != routes[route].method)
        strobe_answer_sentence(a, 405, routes[route].path,
                               routes[route].method == STROBE_METHOD_GET ? "expected GET" : "expected POST");
    else if (route == SESSION || route == SNAPSHOT)
        answer_session(actions, r, transfers, a);
    else if (r->query.at)
        strobe_answer_sentence(a, 400, routes[route].path, "expected no question mark");
    else if (route == STATUS)
        answer_status(actions, a);
    else
        answer_action(actions, r,
                      route == STOP     ? actions->stop
                      : route == PAUSE  ? actions->pause
                      : route == RESUME ? actions->resume
                      : route == DUMP   ? actions->dump
                                        : NULL,
                      a);
}

/* The routes of the control server and their actions (engine/control/router.h), over actions that only count. */
#include "engine/control/router.h"

#include "engine/base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct {
    char calls[256];           /* the actions that were called */
    enum strobe_status result; /* of the next action */
    const char *text;          /* of its error */
    uint32_t features;
    const char *path;
} app;

static struct strobe_answer answer;
static struct strobe_request request;

static void note_call(const char *name)
{
    strcat(app.calls, name);
}

static void get_status(void *ctx, struct strobe_control_status *out)
{
    (void)ctx;
    *out = (struct strobe_control_status){.state = "running",
                                          .path = app.path,
                                          .session = 3,
                                          .pid = 42,
                                          .threads = 5,
                                          .samples = UINT64_MAX,
                                          .lost = 7,
                                          .annotations = 8,
                                          .session_bytes = 9,
                                          .armed = true,
                                          .dumps = 2,
                                          .refused = 1,
                                          .writing = "anr",
                                          .cause = "stall",
                                          .bytes_today = 5000000000,
                                          .last_dump = "/d/dump-01.strobe"};
}

static bool get_feature(void *ctx, uint32_t index, char *out, size_t bytes)
{
    (void)ctx;
    snprintf(out, bytes, "feature %u: \"on\"", index);
    return index < app.features;
}

static enum strobe_status finish_action(struct strobe_error *error)
{
    if (app.result != STROBE_OK && app.text)
        strobe_error_join(error, "", app.text);
    return app.result;
}

static enum strobe_status do_start(void *ctx, const char *options, struct strobe_error *error)
{
    (void)ctx;
    note_call("start:");
    note_call(options);
    return finish_action(error);
}

#define ACTION(name)                                                                                                   \
    static enum strobe_status do_##name(void *ctx, struct strobe_error *error)                                         \
    {                                                                                                                  \
        (void)ctx;                                                                                                     \
        note_call(#name);                                                                                              \
        return finish_action(error);                                                                                   \
    }
ACTION(stop)
ACTION(pause)
ACTION(resume)
ACTION(dump)

static char session[] = "the session";

static enum strobe_status do_copy(void *ctx, uint32_t id, uint64_t last_ns, struct strobe_control_bytes *out,
                                  struct strobe_error *error)
{
    (void)ctx;
    snprintf(app.calls, sizeof app.calls, "copy %u %llu", id, (unsigned long long)last_ns);
    if (app.result == STROBE_OK)
        *out = (struct strobe_control_bytes){session, sizeof session - 1};
    return finish_action(error);
}

static const struct strobe_control_actions actions = {NULL,     get_status, get_feature, do_start, do_stop,
                                                      do_pause, do_resume,  do_copy,     NULL,     do_dump};

/* Answers the request; returns its status. */
static int route_bytes(const char *text, size_t bytes, bool transfers)
{
    app.calls[0] = '\0';
    strobe_request_begin(&request);
    strobe_request_take(&request, text, bytes);
    assert_int_equal(request.state, STROBE_REQUEST_WHOLE);
    strobe_control_route(&actions, &request, transfers, &answer);
    answer.text[answer.length < sizeof answer.text ? answer.length : sizeof answer.text - 1] = '\0';
    return answer.status;
}

static int route(const char *method, const char *target, const char *body)
{
    char text[1024];
    snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nContent-Length: %zu\r\n\r\n%s", method, target, strlen(body), body);
    return route_bytes(text, strlen(text), true);
}

static int reset(void **state)
{
    (void)state;
    memset(&app, 0, sizeof app);
    app.path = "/data/a \"b\"\\\n.strobe";
    app.features = 2;
    return 0;
}

static void the_status_is_json_with_all_members(void **state)
{
    (void)state;
    assert_int_equal(route("GET", "/status", ""), 200);
    assert_true(answer.is_json);
    assert_string_equal(
        answer.text, "{\"state\":\"running\",\"session\":3,\"path\":\"/data/a \\\"b\\\"\\\\\\u000a.strobe\",\"pid\":42,"
                     "\"threads\":5,\"samples\":18446744073709551615,\"lost\":7,\"annotations\":8,"
                     "\"session_bytes\":9,\"flight\":{\"armed\":true,\"dumps\":2,\"refused\":1,"
                     "\"writing\":\"anr\",\"cause\":\"stall\",\"bytes_today\":5000000000,\"last\":\"/d/"
                     "dump-01.strobe\"},\"features\":[\"feature 0: \\\"on\\\"\",\"feature 1: \\\"on\\\"\"]}\n");
}

static void a_status_that_does_not_fit_is_an_error_and_no_broken_json(void **state)
{
    (void)state;
    static char path[STROBE_ANSWER_BYTES];
    memset(path, 'p', sizeof path - 1);
    app.path = path;
    assert_int_equal(route("GET", "/status", ""), 500);
    assert_string_equal(answer.text, "the status does not fit into an answer\n");
}

static void each_action_is_called_once_and_answered_with_the_status(void **state)
{
    (void)state;
    assert_int_equal(route("POST", "/start", "path=/a paused"), 200);
    assert_string_equal(app.calls, "start:path=/a paused");
    assert_int_equal(strncmp(answer.text, "{\"state\":\"running\"", 18), 0);
    static const char *const plain[] = {"stop", "pause", "resume", "dump"};
    for (int i = 0; i < 4; i++) {
        char target[16];
        snprintf(target, sizeof target, "/%s", plain[i]);
        assert_int_equal(route("POST", target, ""), 200);
        assert_string_equal(app.calls, plain[i]);
        assert_true(answer.is_json);
    }
}

static void a_failed_action_is_answered_with_its_sentence(void **state)
{
    (void)state;
    static const struct {
        enum strobe_status status;
        int http;
    } known[] = {{STROBE_BAD_INPUT, 400}, {STROBE_EXISTS, 409},    {STROBE_NO_ENTRY, 409}, {STROBE_UNSUPPORTED, 409},
                 {STROBE_IO, 500},        {STROBE_NO_MEMORY, 500}, {STROBE_LATE, 500}};
    app.text = "no room";
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        app.result = known[i].status;
        assert_int_equal(route("POST", "/start", ""), known[i].http);
        assert_string_equal(answer.text, "no room\n");
        assert_false(answer.is_json);
    }
    app.text = NULL;
    assert_int_equal(route("POST", "/stop", ""), 500);
    assert_string_equal(answer.text, "not stopped in time\n");
}

static void a_session_is_sent_whole_or_its_last_seconds(void **state)
{
    (void)state;
    static const struct {
        const char *method, *target, *call;
    } known[] = {{"GET", "/session", "copy 0 0"},
                 {"GET", "/session/12", "copy 12 0"},
                 {"GET", "/session/12?last=250ms", "copy 12 250000000"},
                 {"POST", "/snapshot", "copy 0 0"},
                 {"POST", "/snapshot?last=5s", "copy 0 5000000000"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_int_equal(route(known[i].method, known[i].target, ""), 200);
        assert_string_equal(app.calls, known[i].call);
        assert_ptr_equal(answer.bytes.at, session);
        assert_int_equal(answer.bytes.bytes, sizeof session - 1);
    }
    app.result = STROBE_NO_ENTRY;
    assert_int_equal(route("GET", "/session/1", ""), 404);
    assert_null(answer.bytes.at);
}

static void one_session_is_sent_at_a_time(void **state)
{
    (void)state;
    static const char text[] = "GET /session HTTP/1.1\r\n\r\n", status[] = "GET /status HTTP/1.1\r\n\r\n";
    assert_int_equal(route_bytes(text, sizeof text - 1, false), 503);
    assert_string_equal(app.calls, "");
    assert_int_equal(route_bytes(status, sizeof status - 1, false), 200);
}

static void what_is_not_known_is_refused_and_nothing_is_called(void **state)
{
    (void)state;
    static const struct {
        const char *method, *target;
        int status;
    } wrong[] = {
        {"GET", "/", 404},
        {"GET", "/statu", 404},
        {"GET", "/status/", 404},
        {"GET", "/session/", 404},
        {"GET", "/session/0", 404},
        {"GET", "/session/1x", 404},
        {"GET", "/session/x", 404},
        {"GET", "/session/4294967296", 404},
        {"POST", "/status", 405},
        {"GET", "/stop", 405},
        {"PUT", "/start", 405},
        {"POST", "/session", 405},
        {"GET", "/snapshot", 405},
        {"GET", "/dump", 405},
        {"POST", "/dump?last=5s", 400},
        {"POST", "/stop?x", 400},
        {"GET", "/status?", 400},
        {"GET", "/session?", 400},
        {"GET", "/session?last=", 400},
        {"GET", "/session?last=5", 400},
        {"GET", "/session?last=0s", 400},
        {"GET", "/session?first=5s", 400},
        {"POST", "/snapshot?last=-1s", 400},
        {"POST", "/snapshot?last=18446744074s", 400},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int status = route(wrong[i].method, wrong[i].target, "");
        if (status != wrong[i].status || app.calls[0])
            fail_msg("%s %s: %d, calls %s", wrong[i].method, wrong[i].target, status, app.calls);
        assert_true(answer.length > 10 && answer.text[answer.length - 1] == '\n');
    }
    static const char nul[] = "POST /start HTTP/1.1\r\nContent-Length: 3\r\n\r\na\0b";
    assert_int_equal(route_bytes(nul, sizeof nul - 1, true), 400);
    assert_string_equal(app.calls, "");
}

static void the_head_states_the_length_and_closes_the_connection(void **state)
{
    (void)state;
    char head[STROBE_ANSWER_HEAD_BYTES + 1] = "";
    route("GET", "/nowhere", "");
    head[strobe_answer_head(&answer, head)] = '\0';
    char length[64];
    snprintf(length, sizeof length, "\r\nContent-Length: %u\r\n\r\n", answer.length);
    assert_int_equal(strncmp(head, "HTTP/1.1 404 Not Found\r\nConnection: close\r\n", 43), 0);
    assert_non_null(strstr(head, length));
    static const int statuses[] = {200, 400, 401, 403, 404, 405, 408, 409, 411, 413, 431, 500, 503, 505};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        answer.status = statuses[i];
        answer.bytes = (struct strobe_control_bytes){session, SIZE_MAX};
        uint32_t n = strobe_answer_head(&answer, head);
        assert_true(n < STROBE_ANSWER_HEAD_BYTES && !memcmp(head + n - 4, "\r\n\r\n", 4));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_status_is_json_with_all_members, reset),
        cmocka_unit_test_setup(a_status_that_does_not_fit_is_an_error_and_no_broken_json, reset),
        cmocka_unit_test_setup(each_action_is_called_once_and_answered_with_the_status, reset),
        cmocka_unit_test_setup(a_failed_action_is_answered_with_its_sentence, reset),
        cmocka_unit_test_setup(a_session_is_sent_whole_or_its_last_seconds, reset),
        cmocka_unit_test_setup(one_session_is_sent_at_a_time, reset),
        cmocka_unit_test_setup(what_is_not_known_is_refused_and_nothing_is_called, reset),
        cmocka_unit_test_setup(the_head_states_the_length_and_closes_the_connection, reset),
    };
    return cmocka_run_group_tests_name("router", tests, NULL, NULL);
}

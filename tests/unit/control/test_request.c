/* The request reader of the control server (engine/control/request.h). */
#include "engine/control/request.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct strobe_request request;

static size_t read_all(const char *text, size_t bytes)
{
    strobe_request_begin(&request);
    return strobe_request_take(&request, text, bytes);
}

static void assert_whole(const char *text)
{
    size_t taken = read_all(text, strlen(text));
    if (request.state != STROBE_REQUEST_WHOLE)
        fail_msg("%s: %s", text, request.reason ? request.reason : "more is expected");
    assert_int_equal(taken, strlen(text));
}

static void assert_refused(const char *text, int status)
{
    read_all(text, strlen(text));
    if (request.state != STROBE_REQUEST_REFUSED || request.refusal != status)
        fail_msg("%s: state %d, status %d, expected %d", text, request.state, request.refusal, status);
    assert_non_null(request.reason);
}

static void assert_part(struct strobe_request_part part, const char *expected)
{
    if (!strobe_request_part_is(part, expected))
        fail_msg("expected %s, found %.*s", expected, (int)part.bytes, part.at ? part.at : "");
}

static void a_request_has_method_path_query_token_and_body(void **state)
{
    (void)state;
    assert_whole("GET /status HTTP/1.1\r\nHost: strobe\r\n\r\n");
    assert_int_equal(request.method, STROBE_METHOD_GET);
    assert_part(request.path, "/status");
    assert_null(request.query.at);
    assert_null(request.token.at);
    assert_int_equal(request.body.bytes, 0);
    assert_string_equal(request.body.at, "");

    assert_whole("POST /snapshot?last=5s HTTP/1.0\r\nauthorization:\tbearer  abc \r\nX: \r\ncontent-length: "
                 "6\r\n\r\nab\r\n\r\n");
    assert_int_equal(request.method, STROBE_METHOD_POST);
    assert_part(request.path, "/snapshot");
    assert_part(request.query, "last=5s");
    assert_part(request.token, "abc");
    assert_int_equal(request.body.bytes, 6);
    assert_string_equal(request.body.at, "ab\r\n\r\n");

    assert_whole("PUT / HTTP/1.1\r\n\r\n");
    assert_int_equal(request.method, STROBE_METHOD_OTHER);
    assert_whole("GET /a?b?c HTTP/1.1\r\n\r\n");
    assert_part(request.query, "b?c");
    assert_whole("GET /? HTTP/1.1\r\n\r\n");
    assert_true(request.query.at && !request.query.bytes);
}

static void bytes_behind_a_request_are_not_taken(void **state)
{
    (void)state;
    static const char text[] = "POST /start HTTP/1.1\r\nContent-Length: 2\r\n\r\nabGET /status";
    assert_int_equal(read_all(text, sizeof text - 1), sizeof text - 1 - strlen("GET /status"));
    assert_string_equal(request.body.at, "ab");
    assert_int_equal(strobe_request_take(&request, "x", 1), 0);
}

static void other_texts_are_refused_with_a_status_and_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
    } wrong[] = {
        {"\r\n", 400},
        {"GET\r\n", 400},
        {"GET /status\r\n", 400},
        {"GET  /status HTTP/1.1\r\n", 400},
        {"GET /status HTTP/1.1 \r\n", 505},
        {"GET /status HTTP/2\r\n", 505},
        {"GET /status HTTP/1.2\r\n", 505},
        {"GET /status http/1.1\r\n", 400},
        {"GET status HTTP/1.1\r\n", 400},
        {"GET http://x/status HTTP/1.1\r\n", 400},
        {"G(T /status HTTP/1.1\r\n", 400},
        {"GET /st\x7f HTTP/1.1\r\n", 400},
        {"GET /st\xc3\xa4 HTTP/1.1\r\n", 400},
        {"GET /status HTTP/1.1\n", 400},
        {"GET /status HTTP/1.1\rX", 400},
        {"GET /status HTTP/1.1\r\n\n", 400},
        {"GET / HTTP/1.1\r\nHost\r\n", 400},
        {"GET / HTTP/1.1\r\n: x\r\n", 400},
        {"GET / HTTP/1.1\r\nHost : x\r\n", 400},
        {"GET / HTTP/1.1\r\n folded\r\n", 400},
        {"GET / HTTP/1.1\r\nA: \x01\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: \r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: -1\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: 1x\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: 1, 1\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: 9000\r\n\r\n", 413},
        {"GET / HTTP/1.1\r\nContent-Length: 99999999999999999999999999\r\n\r\n", 413},
        {"GET / HTTP/1.1\r\nContent-Length: 4294967297\r\n\r\n", 413},
        {"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411},
        {"GET / HTTP/1.1\r\nAuthorization: Basic abc\r\n", 400},
        {"GET / HTTP/1.1\r\nAuthorization: Bearer\r\n", 400},
        {"GET / HTTP/1.1\r\nAuthorization: Bearer a\r\nAuthorization: Bearer a\r\n", 400},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_refused(wrong[i].text, wrong[i].status);
    read_all("GET /\0 HTTP/1.1\r\n", 17);
    assert_int_equal(request.refusal, 400);
}

/* Writes a request of `bytes` bytes with a body of `body` bytes; a header field fills in the rest. */
static char *request_of(size_t bytes, size_t body)
{
    char *text = calloc(1, bytes + 128);
    int head = snprintf(text, 128, "POST /start HTTP/1.1\r\nContent-Length: %zu\r\nX: ", body);
    memset(text + head, 'x', bytes - body - (size_t)head - 4);
    memcpy(text + bytes - body - 4, "\r\n\r\n", 4);
    memset(text + bytes - body, 'b', body);
    return text;
}

static void a_request_has_at_most_8192_bytes(void **state)
{
    (void)state;
    static const size_t bodies[] = {0, 1, 4000, 8100};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        char *fits = request_of(STROBE_REQUEST_BYTES, bodies[i]),
             *wide = request_of(STROBE_REQUEST_BYTES + 1, bodies[i]);
        assert_int_equal(read_all(fits, STROBE_REQUEST_BYTES), STROBE_REQUEST_BYTES);
        assert_int_equal(request.state, STROBE_REQUEST_WHOLE);
        assert_int_equal(request.body.bytes, bodies[i]);
        assert_int_equal(strlen(request.body.at), bodies[i]);
        read_all(wide, STROBE_REQUEST_BYTES + 1);
        assert_int_equal(request.state, STROBE_REQUEST_REFUSED);
        assert_int_equal(request.refusal, bodies[i] ? 413 : 431);
        free(fits);
        free(wide);
    }
}

static const char *const samples[] = {
    "GET /status HTTP/1.1\r\nHost: strobe\r\nAccept-Language: en\r\nAccept: */*\r\n\r\n",
    "POST /start HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\npath=/a/b\nreplace   x",
    "POST /snapshot?last=5s HTTP/1.0\r\nAuthorization: Bearer 0123456789abcdef0123456789abcdef\r\n\r\n",
    "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "GET / HTTP/1.1\r\nContent-Length: 9000\r\n\r\n",
};

/* The state after each byte does not depend on where the text was cut. */
static void a_request_may_be_cut_at_every_byte(void **state)
{
    (void)state;
    static struct strobe_request whole;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        size_t bytes = strlen(samples[i]);
        strobe_request_begin(&whole);
        size_t taken = strobe_request_take(&whole, samples[i], bytes);
        for (size_t cut = 0; cut <= bytes; cut++) {
            strobe_request_begin(&request);
            size_t first = strobe_request_take(&request, samples[i], cut);
            assert_int_equal(first, cut < taken ? cut : taken);
            if (cut < taken)
                assert_int_equal(request.state, STROBE_REQUEST_MORE);
            first += strobe_request_take(&request, samples[i] + first, bytes - first);
            assert_int_equal(first, taken);
            assert_int_equal(request.state, whole.state);
            assert_int_equal(request.refusal, whole.refusal);
            assert_int_equal(request.body.bytes, whole.body.bytes);
        }
    }
}

/* Random changes of valid requests: every text ends in a state, and the parts are inside the text. */
static void random_texts_end_in_a_request_or_a_refusal(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (uint32_t round = 0; round < strobe_trial_rounds(20000); round++) {
        char text[256];
        const char *sample = samples[strobe_trial_below(&seed, sizeof samples / sizeof samples[0])];
        size_t bytes = strlen(sample);
        memcpy(text, sample, bytes);
        for (uint32_t changes = strobe_trial_below(&seed, 4); changes--;)
            text[strobe_trial_below(&seed, (uint32_t)bytes)] = (char)strobe_trial_random(&seed);
        read_all(text, bytes);
        const struct strobe_request_part parts[] = {request.path, request.query, request.token, request.body};
        for (int i = 0; i < 4; i++)
            assert_true(!parts[i].at ||
                        (parts[i].at >= request.text && parts[i].at + parts[i].bytes <= request.text + request.bytes));
        assert_true(request.state != STROBE_REQUEST_REFUSED || (request.refusal >= 400 && request.reason));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_has_method_path_query_token_and_body),
        cmocka_unit_test(bytes_behind_a_request_are_not_taken),
        cmocka_unit_test(other_texts_are_refused_with_a_status_and_a_reason),
        cmocka_unit_test(a_request_has_at_most_8192_bytes),
        cmocka_unit_test(a_request_may_be_cut_at_every_byte),
        cmocka_unit_test(random_texts_end_in_a_request_or_a_refusal),
    };
    return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}

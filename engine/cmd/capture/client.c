#include "engine/cmd/capture/client.h"

#include "engine/cmd/cmd.h"

#include <stdio.h>
#include <string.h>

enum { URL_BYTES = 512, CONFIG_BYTES = 2048 };

/* Exit statuses of curl(1). */
enum {
    CURL_NO_HOST = 6,
    CURL_NO_CONNECTION = 7,
    CURL_PARTIAL = 18,
    CURL_REFUSED = 22, /* HTTP status of 400 or more */
    CURL_TIMED_OUT = 28,
    CURL_EMPTY = 52,
    CURL_SEND_FAILED = 55,
    CURL_RECEIVE_FAILED = 56,
};

static enum strobe_reply classify(const struct strobe_program_result *r)
{
    if (r->end == STROBE_PROGRAM_INTERRUPTED)
        return STROBE_REPLY_INTERRUPTED;
    if (r->end != STROBE_PROGRAM_EXITED)
        return STROBE_REPLY_FAILED;
    switch (r->status) {
    case 0: return STROBE_REPLY_OK;
    case CURL_REFUSED: return STROBE_REPLY_REFUSED;
    case CURL_NO_HOST:
    case CURL_NO_CONNECTION:
    case CURL_EMPTY:
    case CURL_SEND_FAILED: return STROBE_REPLY_NO_SERVER;
    case CURL_RECEIVE_FAILED: return r->output[0] ? STROBE_REPLY_CUT : STROBE_REPLY_NO_SERVER;
    case CURL_TIMED_OUT:
    case CURL_PARTIAL: return STROBE_REPLY_CUT;
    default: return STROBE_REPLY_FAILED;
    }
}

enum strobe_reply strobe_client_send(const struct strobe_client *c, const char *method, const char *target,
                                     const char *body, const struct strobe_program_sink *sink,
                                     struct strobe_program_result *out)
{
    char url[URL_BYTES], config[CONFIG_BYTES] = "";
    snprintf(url, sizeof url, "http://%s%s", c->socket ? "localhost" : c->address, target);
    /* Less than one byte a second for ten seconds: the server does not answer, or has stopped in the middle. */
    const char *argv[24] = {"curl",
                            "-q",
                            "--silent",
                            "--show-error",
                            "--fail-with-body",
                            "--noproxy",
                            "*",
                            "--globoff",
                            "--speed-limit",
                            "1",
                            "--speed-time",
                            "10",
                            "--config",
                            "-",
                            "--request",
                            method};
    size_t n = 16;
    if (c->socket) {
        argv[n++] = "--abstract-unix-socket";
        argv[n++] = c->socket;
    }
    if (body) {
        argv[n++] = "--data-binary";
        argv[n++] = body;
    }
    argv[n] = url;
    /* The token is not an argument, because other users can read those. */
    if (c->token)
        snprintf(config, sizeof config, "header = \"Authorization: Bearer %s\"\n", c->token);
    strobe_program_run(&(struct strobe_program){.argv = argv, .input = config, .sink = sink, .interrupt = c->interrupt},
                       out);
    return classify(out);
}

int strobe_client_complain(const struct strobe_client *c, enum strobe_reply reply,
                           const struct strobe_program_result *r)
{
    const char *at = c->socket ? c->socket : c->address;
    switch (reply) {
    case STROBE_REPLY_REFUSED:
        return strobe_complain("capture: %s: %.*s", at, (int)strcspn(r->output, "\r\n"), r->output);
    case STROBE_REPLY_NO_SERVER: return strobe_complain("capture: %s: no control server answers there", at);
    case STROBE_REPLY_CUT: return strobe_complain("capture: %s: the answer ended early", at);
    case STROBE_REPLY_FAILED:
        if (r->end == STROBE_PROGRAM_MISSING)
            return strobe_complain("capture: curl: %s (Debian: apt install curl)", strerror(r->status));
        return strobe_complain("capture: %s: %.*s", at, (int)strcspn(r->errors, "\r\n"), r->errors);
    default: return STROBE_EXIT_BAD;
    }
}

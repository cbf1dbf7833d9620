/* Requests to the control server: with any bytes, in any pieces, the reader ends in a request or in a refusal with a
 * status and a sentence, the same as when it gets the bytes at once; and each request gets an answer.
 *
 * The first byte of the input is the length of the first piece, the second that of all others (0: 256). The rest is the
 * text. */
#include "engine/base/error.h"
#include "engine/control/router.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void get_status(void *ctx, struct strobe_control_status *out)
{
    (void)ctx;
    *out = (struct strobe_control_status){.state = "running", .path = ""};
}

static bool get_feature(void *ctx, uint32_t index, char *out, size_t bytes)
{
    (void)ctx, (void)index, (void)out, (void)bytes;
    return false;
}

static enum strobe_status do_start(void *ctx, const char *options, struct strobe_error *error)
{
    (void)ctx;
    must(strlen(options) <= STROBE_REQUEST_BYTES, "options without an end");
    strobe_error_join(error, "", "refused");
    return options[0] ? STROBE_OK : STROBE_EXISTS;
}

static enum strobe_status do_nothing(void *ctx, struct strobe_error *error)
{
    (void)ctx, (void)error;
    return STROBE_OK;
}

static enum strobe_status do_copy(void *ctx, uint32_t id, uint64_t last_ns, struct strobe_control_bytes *out,
                                  struct strobe_error *error)
{
    static char session[1];
    (void)ctx, (void)error;
    *out = (struct strobe_control_bytes){session, 1};
    return id == 7 || last_ns == 7 ? STROBE_NO_ENTRY : STROBE_OK;
}

static const struct strobe_control_actions actions = {NULL,       get_status, get_feature, do_start, do_nothing,
                                                      do_nothing, do_nothing, do_copy,     NULL,     do_nothing};

static struct strobe_request whole, pieces;

static void check_parts(const struct strobe_request *r)
{
    const struct strobe_request_part part[] = {r->path, r->query, r->token, r->body};
    must(r->bytes <= STROBE_REQUEST_BYTES, "more bytes than the bound");
    for (int i = 0; i < 4; i++)
        must(!part[i].at || (part[i].at >= r->text && part[i].at + part[i].bytes <= r->text + r->bytes),
             "a part outside of the text");
}

static void answer(const struct strobe_request *r)
{
    static struct strobe_answer a;
    char head[STROBE_ANSWER_HEAD_BYTES];
    strobe_control_route(&actions, r, true, &a);
    must(a.status >= 200 && a.status < 600 && (a.length || a.bytes.at), "no answer");
    must(strobe_answer_head(&a, head) < STROBE_ANSWER_HEAD_BYTES, "a head without an end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < 2)
        return 0;
    size_t step = data[0], others = data[1] ? data[1] : 256, at = 0;
    const char *text = (const char *)data + 2;
    bytes -= 2;
    strobe_request_begin(&whole);
    strobe_request_begin(&pieces);
    size_t taken = strobe_request_take(&whole, text, bytes);
    while (at < bytes && pieces.state == STROBE_REQUEST_MORE) {
        step = step < bytes - at ? step : bytes - at;
        at += strobe_request_take(&pieces, text + at, step);
        step = others;
    }
    must(at == taken && pieces.state == whole.state && pieces.refusal == whole.refusal, "the pieces make a difference");
    check_parts(&pieces);
    if (whole.state == STROBE_REQUEST_REFUSED)
        must(whole.refusal >= 400 && whole.refusal < 600 && whole.reason, "a refusal without a reason");
    if (whole.state == STROBE_REQUEST_WHOLE)
        answer(&pieces);
    return 0;
}

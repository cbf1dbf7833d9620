#include "engine/control/request.h"

#include <string.h>

typedef struct strobe_request_part part;

bool strobe_request_part_is(part p, const char *text)
{
    return p.at && strlen(text) == p.bytes && !memcmp(p.at, text, p.bytes);
}

void strobe_request_begin(struct strobe_request *r)
{
    memset(r, 0, offsetof(struct strobe_request, text));
}

static void refuse_request(struct strobe_request *r, int status, const char *reason)
{
    r->state = STROBE_REQUEST_REFUSED;
    r->refusal = status;
    r->reason = reason;
}

/* ---- characters */

static bool is_visible(char c)
{
    return c > ' ' && c < 0x7f;
}

/* Control characters that no head may hold. A line feed or a carriage return is checked with the line's end. */
static bool is_control_char(char c)
{
    return ((unsigned char)c < ' ' && c != '\r' && c != '\n' && c != '\t') || c == 0x7f;
}

/* Characters of a token (RFC 9110, 5.6.2): names of methods and of header fields. */
static bool is_token_char(char c)
{
    return is_visible(c) && !memchr("\"(),/:;<=>?@[\\]{}", c, 17);
}

static char lower_char(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Compares without regard to case. `text` is in lower case. */
static bool is_named(part p, const char *text)
{
    uint32_t i = 0;
    while (i < p.bytes && text[i] && lower_char(p.at[i]) == text[i])
        i++;
    return i == p.bytes && !text[i];
}

/* Cuts the part off at the first `end`. Returns what is behind it; `at` is NULL when there is no `end`. */
static part cut_at(part *p, char end)
{
    const char *found = p->bytes ? memchr(p->at, end, p->bytes) : NULL;
    if (!found)
        return (part){NULL, 0};
    part rest = {found + 1, p->bytes - (uint32_t)(found - p->at) - 1};
    p->bytes = (uint32_t)(found - p->at);
    return rest;
}

static part trim_blanks(part p)
{
    while (p.bytes && (*p.at == ' ' || *p.at == '\t'))
        p.at++, p.bytes--;
    while (p.bytes && (p.at[p.bytes - 1] == ' ' || p.at[p.bytes - 1] == '\t'))
        p.bytes--;
    return p;
}

static bool consists_of(part p, bool (*fits)(char))
{
    for (uint32_t i = 0; i < p.bytes; i++)
        if (!fits(p.at[i]))
            return false;
    return p.bytes > 0;
}

/* ---- the head */

static void read_request_line(struct strobe_request *r, part method)
{
    part target = cut_at(&method, ' '), version = cut_at(&target, ' ');
    if (!version.at || !consists_of(method, is_token_char) || !consists_of(target, is_visible)) {
        refuse_request(r, 400, "expected a request line such as GET /status HTTP/1.1");
        return;
    }
    if (!strobe_request_part_is(version, "HTTP/1.1") && !strobe_request_part_is(version, "HTTP/1.0")) {
        bool is_http = version.bytes > 5 && !memcmp(version.at, "HTTP/", 5);
        refuse_request(r, is_http ? 505 : 400, "expected HTTP/1.1 or HTTP/1.0");
        return;
    }
    if (target.at[0] != '/') {
        refuse_request(r, 400, "expected a target that begins with a slash");
        return;
    }
    r->method = strobe_request_part_is(method, "GET")    ? STROBE_METHOD_GET
                : strobe_request_part_is(method, "POST") ? STROBE_METHOD_POST
                                                         : STROBE_METHOD_OTHER;
    r->query = cut_at(&target, '?');
    r->path = target;
}

/* A length beyond the bound of a request is kept as STROBE_REQUEST_BYTES + 1. */
static void read_content_length(struct strobe_request *r, part value)
{
    uint32_t length = 0;
    for (uint32_t i = 0; i < value.bytes; i++) {
        if (value.at[i] < '0' || value.at[i] > '9') {
            length = 0;
            value.bytes = 0;
            break;
        }
        length = length * 10 + (uint32_t)(value.at[i] - '0');
        length = length > STROBE_REQUEST_BYTES ? STROBE_REQUEST_BYTES + 1 : length;
    }
    if (!value.bytes || r->has_length)
        refuse_request(r, 400, "expected one Content-Length, a decimal number");
    r->has_length = true;
    r->body_length = length;
}

static void read_authorization(struct strobe_request *r, part scheme)
{
    part token = trim_blanks(cut_at(&scheme, ' '));
    if (r->token.at || !is_named(scheme, "bearer") || !token.bytes)
        refuse_request(r, 400, "expected one field Authorization: Bearer TOKEN");
    else
        r->token = token;
}

static void read_header_field(struct strobe_request *r, part name)
{
    part value = cut_at(&name, ':');
    if (!value.at || !consists_of(name, is_token_char)) {
        refuse_request(r, 400, "expected header fields of the form Name: value");
        return;
    }
    value = trim_blanks(value);
    if (is_named(name, "content-length"))
        read_content_length(r, value);
    else if (is_named(name, "transfer-encoding"))
        r->is_chunked = true;
    else if (is_named(name, "authorization"))
        read_authorization(r, value);
}

static void finish_head(struct strobe_request *r)
{
    r->head_bytes = r->bytes;
    if (r->is_chunked)
        refuse_request(r, 411, "expected a body with Content-Length, not with Transfer-Encoding");
    else if (r->body_length > STROBE_REQUEST_BYTES - r->head_bytes)
        refuse_request(r, 413, "expected a request of at most 8192 bytes, head and body together");
    else
        r->whole_bytes = r->head_bytes + r->body_length;
}

static void take_head_line(struct strobe_request *r)
{
    part line = {r->text + r->line, r->bytes - 2 - r->line};
    bool first = !r->line;
    r->line = r->bytes;
    if (first)
        read_request_line(r, line);
    else if (line.bytes)
        read_header_field(r, line);
    else
        finish_head(r);
}

static void take_head_byte(struct strobe_request *r, char c)
{
    bool after_cr = r->bytes && r->text[r->bytes - 1] == '\r';
    r->text[r->bytes++] = c;
    if (after_cr != (c == '\n'))
        refuse_request(r, 400, "expected lines that end with CR LF");
    else if (c == '\n')
        take_head_line(r);
    else if (is_control_char(c))
        refuse_request(r, 400, "expected a head without control characters");
    if (r->state == STROBE_REQUEST_MORE && !r->head_bytes && r->bytes == STROBE_REQUEST_BYTES)
        refuse_request(r, 431, "expected a request of at most 8192 bytes");
}

/* ---- */

static void finish_request(struct strobe_request *r)
{
    if (r->state != STROBE_REQUEST_MORE || !r->head_bytes || r->bytes < r->whole_bytes)
        return;
    r->text[r->bytes] = '\0';
    r->body = (part){r->text + r->head_bytes, r->body_length};
    r->state = STROBE_REQUEST_WHOLE;
}

size_t strobe_request_take(struct strobe_request *r, const char *from, size_t bytes)
{
    size_t taken = 0;
    while (taken < bytes && r->state == STROBE_REQUEST_MORE) {
        if (r->head_bytes)
            r->text[r->bytes++] = from[taken];
        else
            take_head_byte(r, from[taken]);
        taken++;
        finish_request(r);
    }
    return taken;
}

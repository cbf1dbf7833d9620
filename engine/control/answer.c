#include "engine/control/answer.h"

#include <string.h>

void strobe_answer_begin(struct strobe_answer *a, int status)
{
    memset(a, 0, offsetof(struct strobe_answer, text));
    a->status = status;
}

static void add_bytes(struct strobe_answer *a, const char *from, size_t bytes)
{
    if (bytes > sizeof a->text - a->length) {
        a->is_cut = true;
        return;
    }
    memcpy(a->text + a->length, from, bytes);
    a->length += (uint32_t)bytes;
}

void strobe_answer_add(struct strobe_answer *a, const char *text)
{
    add_bytes(a, text, strlen(text));
}

void strobe_answer_add_number(struct strobe_answer *a, uint64_t number)
{
    char digits[20], *first = digits + sizeof digits;
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    add_bytes(a, first, (size_t)(digits + sizeof digits - first));
}

/* Bytes of UTF-8 stay as they are. A text with other bytes above 0x7f is no valid JSON; paths may hold them. */
void strobe_answer_add_string(struct strobe_answer *a, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    strobe_answer_add(a, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        if (c == '"' || c == '\\')
            add_bytes(a, "\\", 1);
        if (c < ' ')
            add_bytes(a, escape, sizeof escape);
        else
            add_bytes(a, text, 1);
    }
    strobe_answer_add(a, "\"");
}

void strobe_answer_sentence(struct strobe_answer *a, int status, const char *first, const char *second)
{
    strobe_answer_begin(a, status);
    strobe_answer_add(a, first);
    if (*first && *second)
        strobe_answer_add(a, ": ");
    strobe_answer_add(a, second);
    strobe_answer_add(a, "\n");
}

static const char *describe_status(int status)
{
    switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Internal Server Error";
    }
}

uint32_t strobe_answer_head(const struct strobe_answer *a, char head[STROBE_ANSWER_HEAD_BYTES])
{
    struct strobe_answer h;
    bool has_bytes = a->bytes.at != NULL;
    strobe_answer_begin(&h, a->status);
    strobe_answer_add(&h, "HTTP/1.1 ");
    strobe_answer_add_number(&h, (uint64_t)a->status);
    strobe_answer_add(&h, " ");
    strobe_answer_add(&h, describe_status(a->status));
    strobe_answer_add(&h, "\r\nConnection: close\r\nCache-Control: no-store\r\nContent-Type: ");
    strobe_answer_add(&h, has_bytes    ? "application/octet-stream"
                          : a->is_json ? "application/json"
                                       : "text/plain; charset=utf-8");
    if (a->status == 401)
        strobe_answer_add(&h, "\r\nWWW-Authenticate: Bearer");
    if (a->status == 405)
        strobe_answer_add(&h, "\r\nAllow: GET, POST");
    if (a->status == 503)
        strobe_answer_add(&h, "\r\nRetry-After: 1");
    strobe_answer_add(&h, "\r\nContent-Length: ");
    strobe_answer_add_number(&h, has_bytes ? a->bytes.bytes : a->length);
    strobe_answer_add(&h, "\r\n\r\n");
    uint32_t length = h.length < STROBE_ANSWER_HEAD_BYTES ? h.length : STROBE_ANSWER_HEAD_BYTES;
    memcpy(head, h.text, length);
    return length;
}

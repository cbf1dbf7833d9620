/* Reads one HTTP/1.1 request, byte by byte: the first of the three parts of the control server
 * (engine/control/server.h). The reader has no side effects: bytes go in, a request or a refusal comes out. It does not
 * matter how the bytes are divided into pieces.
 *
 *   MORE --> WHOLE     the head is complete, and as many bytes of body as Content-Length states
 *   MORE --> REFUSED   status and reason say what was expected
 *
 * A request has at most STROBE_REQUEST_BYTES bytes, head and body together. The reader accepts lines that end with CR
 * LF, the versions HTTP/1.0 and HTTP/1.1, and a body with Content-Length. Of the header fields it keeps Content-Length
 * and the token of `Authorization: Bearer TOKEN`. Any thread; one thread uses a reader. */
#ifndef STROBE_CONTROL_REQUEST_H
#define STROBE_CONTROL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STROBE_REQUEST_BYTES = 8192 };

enum strobe_request_state { STROBE_REQUEST_MORE, STROBE_REQUEST_WHOLE, STROBE_REQUEST_REFUSED };

enum strobe_request_method { STROBE_METHOD_OTHER, STROBE_METHOD_GET, STROBE_METHOD_POST };

/* A part of the request's text. Not NUL-terminated. `at` is NULL when the request has no such part. */
struct strobe_request_part {
    const char *at;
    uint32_t bytes;
};

/* Zero before the first byte, except for `text`. It must not move, because its parts point into it. */
struct strobe_request {
    enum strobe_request_state state;
    enum strobe_request_method method;
    struct strobe_request_part path;  /* from its first slash to the question mark */
    struct strobe_request_part query; /* behind the question mark */
    struct strobe_request_part token; /* of the field Authorization */
    struct strobe_request_part body;  /* NUL-terminated; set when the request is WHOLE */
    int refusal;                      /* status of HTTP when the request is REFUSED */
    const char *reason;               /* a sentence that says what was expected */

    uint32_t bytes;       /* of text */
    uint32_t line;        /* where the line that is being read begins */
    uint32_t head_bytes;  /* 0 until the head is complete */
    uint32_t whole_bytes; /* of head and body, once the head is complete */
    uint32_t body_length; /* the value of Content-Length */
    bool has_length, is_chunked;
    char text[STROBE_REQUEST_BYTES + 1];
};

/* Makes the reader ready for the first byte. */
void strobe_request_begin(struct strobe_request *r);

/* Takes bytes until the request is WHOLE or REFUSED. Returns how many it has taken. */
size_t strobe_request_take(struct strobe_request *r, const char *from, size_t bytes);

/* Returns true when the part equals the text. */
bool strobe_request_part_is(struct strobe_request_part part, const char *text);

#endif

/* Requests to the control server of an app (engine/control), through the program `curl` on PATH. */
#ifndef STROBE_CMD_CAPTURE_CLIENT_H
#define STROBE_CMD_CAPTURE_CLIENT_H

#include "engine/cmd/capture/program.h"

/* Where the server listens: at an abstract Unix socket of this machine, or at HOST:PORT. */
struct strobe_client {
    const char *socket; /* without the NUL byte in front; NULL: `address` counts */
    const char *address;
    const char *token; /* for servers that ask for one; or NULL */
    struct strobe_interrupt *interrupt;
};

enum strobe_reply {
    STROBE_REPLY_OK,
    STROBE_REPLY_REFUSED,     /* the server said why: a line in the result's `output` */
    STROBE_REPLY_NO_SERVER,   /* nothing listens there, or it closed the connection before an answer */
    STROBE_REPLY_CUT,         /* the connection ended in the middle of the answer */
    STROBE_REPLY_INTERRUPTED, /* by a signal */
    STROBE_REPLY_FAILED,      /* curl could not run, or complained: a line in `errors` */
};

/* Sends one request. `target`: path and query. `body`: NULL = none. `sink` takes the answer's body as it arrives, also
 * that of a refusal; NULL = none. The result has the begin of the answer's body as `output`. The server must begin its
 * answer within ten seconds. */
enum strobe_reply strobe_client_send(const struct strobe_client *c, const char *method, const char *target,
                                     const char *body, const struct strobe_program_sink *sink,
                                     struct strobe_program_result *out);

/* Prints one line that says why there was no good answer. Nothing after an interrupt. Returns STROBE_EXIT_BAD. */
int strobe_client_complain(const struct strobe_client *c, enum strobe_reply reply,
                           const struct strobe_program_result *r);

#endif

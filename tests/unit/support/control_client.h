/* A client of the control server for tests: connects, sends any bytes, reads the answer. */
#ifndef STROBE_UNIT_SUPPORT_CONTROL_CLIENT_H
#define STROBE_UNIT_SUPPORT_CONTROL_CLIENT_H

#include "engine/control/socket.h"

#include <stdbool.h>
#include <stddef.h>

/* Connects to the server. Aborts the test when that fails. */
int strobe_client_connect(const struct strobe_control_address *address);

/* Sends all bytes. Returns false when the server has closed the connection. */
bool strobe_client_send(int fd, const char *bytes, size_t count);

/* Reads until the server ends its side, for at most 10 s, and closes the connection. `out` gets the first bytes,
 * NUL-terminated. Returns the number of all bytes; -1 when the connection was reset. */
long strobe_client_finish(int fd, char *out, size_t out_bytes);

/* Sends a request and reads its answer. Returns the status of HTTP, or 0 when there was none. */
int strobe_client_ask(const struct strobe_control_address *address, const char *request, char *out, size_t out_bytes);

/* What a random client sends. Its requests are at most STROBE_CLIENT_REQUEST_BYTES long. */
enum { STROBE_CLIENT_REQUEST_BYTES = 256 };
struct strobe_client_requests {
    const char *const *text;
    uint32_t count;
};

/* Requests of each kind, for a server that asks for no token. */
extern const struct strobe_client_requests strobe_client_requests;

/* Plays a session of a random client: one of the requests, whole or changed or cut off, in one or two pieces; the
 * client reads the answer, or leaves before. Returns the status of HTTP for a request that was sent whole and whose
 * answer was read, else -1. `out` as in strobe_client_finish. */
int strobe_client_play(const struct strobe_control_address *address, const struct strobe_client_requests *requests,
                       uint64_t *seed, char *out, size_t out_bytes);

/* Returns the status of HTTP at the begin of an answer, or 0. */
int strobe_client_status(const char *answer);

#endif

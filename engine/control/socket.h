/* The sockets of the control server: an abstract Unix socket (Linux, Android), or TCP on the loopback address. No
 * function waits, except for strobe_socket_poll. No call raises SIGPIPE. Descriptors are close-on-exec. */
#ifndef STROBE_CONTROL_SOCKET_H
#define STROBE_CONTROL_SOCKET_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STROBE_CONTROL_NAME_BYTES = 100 };

struct strobe_control_address {
    char name[STROBE_CONTROL_NAME_BYTES]; /* of the abstract Unix socket; "" = TCP */
    uint16_t port;                        /* of TCP; 0 = one that is free */
};

/* Opens a socket that listens there. On success *fd is the descriptor, and address->port is the port. STROBE_EXISTS:
 * the name or the port is taken. STROBE_UNSUPPORTED: the system has no abstract Unix sockets. STROBE_IO. */
enum strobe_status strobe_socket_listen(struct strobe_control_address *address, int *fd, struct strobe_error *error);

/* Returns a connected descriptor. Returns -1 when no client waits; *exhausted: one may wait, but there is no descriptor
 * or no memory for it. */
int strobe_socket_accept(int listener, bool *exhausted);

/* Stores the user id of the process at the other end of a Unix socket. Returns false when the system does not say it.
 */
bool strobe_socket_peer(int fd, uint32_t *uid);

/* Connects to the listening socket and closes the connection, so that a poll of the listener returns. */
void strobe_socket_nudge(const struct strobe_control_address *address);

/* Waits until a descriptor is ready, or for `ms`; -1 = without a limit. May return early. Returns false when the system
 * refuses the call. */
bool strobe_socket_poll(struct pollfd *fds, uint32_t count, int ms);

/* Read and send some bytes. Return their number, 0 when that would have to wait, -1 when the connection has ended. */
long strobe_socket_read(int fd, void *to, size_t bytes);
long strobe_socket_send(int fd, const void *from, size_t bytes);

/* Ends this side of the connection; the other side reads the end behind all bytes sent. */
void strobe_socket_finish(int fd);

void strobe_socket_close(int fd);

/* Fills in `bytes` bytes that nobody can guess. Returns false when the system has none. */
bool strobe_socket_random(void *to, size_t bytes);

/* Returns ns of a clock that never goes back. */
uint64_t strobe_socket_now_ns(void);

#endif

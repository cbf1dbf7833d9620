/* The control server: HTTP/1.1 in the captured process. It has three parts, which are tested apart: request.h reads a
 * request, router.h answers it, and this part moves bytes between sockets and the other two.
 *
 *     curl --abstract-unix-socket NAME http://strobe/status
 *
 * The server is one loop on one thread, which the backend starts and never traces. A connection carries one request:
 *
 *   READ    bytes of the request arrive
 *   SEND    the answer is sent; a session is sent from a copy of its own
 *   DRAIN   the answer is sent, and the server waits until the client has closed its side
 *
 * DRAIN lets a client read the answer even if it still sends. What a client can do to the program:
 *
 *   wait      each state has a deadline, and the loop never waits for one client
 *   memory    four requests of 8 KiB, and one copy of a session
 *   access    see below
 *   end       no signal is raised
 *
 * A transfer must move 64 KiB before each next deadline. The memory is the server's, mapped or static; the program's
 * heap is not used. Connections beyond four wait in the socket's queue.
 *
 * On the Unix socket the peer's user id must be the program's, root's, or the shell's where `shell` says so; other
 * peers get 403. By TCP the request must have the token, which is compared in constant time; else the answer is 401.
 * One peer with another user id is served at a time, so that such peers cannot take all connections.
 *
 * Without a connection the server sleeps in poll and uses no processor time. */
#ifndef STROBE_CONTROL_SERVER_H
#define STROBE_CONTROL_SERVER_H

#include "engine/base/atomic.h"
#include "engine/control/router.h"
#include "engine/control/socket.h"

enum {
    STROBE_CONTROL_CONNECTIONS = 4,
    STROBE_CONTROL_TOKEN_BYTES = 32, /* hexadecimal digits */
    STROBE_CONTROL_SHELL_UID = 2000, /* Android's shell, as adb uses it */
    STROBE_CONTROL_END = -2,
};

/* Who may use the server. */
struct strobe_control_access {
    uint32_t uid;                               /* of the program */
    bool shell;                                 /* Android's shell, too: the app is debuggable */
    char token[STROBE_CONTROL_TOKEN_BYTES + 1]; /* for TCP */
};

struct strobe_control_options {
    struct strobe_control_address address;
    struct strobe_control_access access;
    const struct strobe_control_actions *actions;
    uint32_t request_ms, send_ms, drain_ms; /* deadlines; 0 = 5000, 5000, 1000 */
    /* Returns the longest time in ms that the server may sleep without a connection: -1 = without a limit,
     * STROBE_CONTROL_END = the server ends. NULL: -1. */
    int (*idle_ms)(void);
    /* Moves a new descriptor to a number that the program does not use. NULL: it stays. */
    int (*raise)(int fd);
};

struct strobe_control_connection {
    enum { STROBE_CONNECTION_FREE, STROBE_CONNECTION_READ, STROBE_CONNECTION_SEND, STROBE_CONNECTION_DRAIN } state;
    int fd;
    bool stranger; /* its user id has no access */
    uint64_t deadline_ns;
    uint64_t sent, extended; /* bytes sent in all, and at the last extension of the deadline */
    uint32_t head_bytes;
    char head[STROBE_ANSWER_HEAD_BYTES];
    struct strobe_request request;
    struct strobe_answer answer;
};

/* Zero at first. It is 70 KiB and must not move. */
struct strobe_control_server {
    struct strobe_control_options options;
    int listener;
    uint64_t accept_ns; /* before this time no connection is accepted: the last one found no descriptor */
    strobe_a32 stops;   /* 1: the loop is asked to end */
    struct strobe_control_connection connections[STROBE_CONTROL_CONNECTIONS];
};

/* Opens the listening socket. For TCP without a token it chooses one. STROBE_EXISTS, STROBE_IO, STROBE_UNSUPPORTED,
 * with one line in `error`. */
enum strobe_status strobe_control_open(struct strobe_control_server *s, const struct strobe_control_options *options,
                                       struct strobe_error *error);

/* Serves until strobe_control_ask_to_end, or until idle_ms says so, and closes all descriptors. By one thread. */
void strobe_control_serve(struct strobe_control_server *s);

/* Asks the loop to end. Returns at once. Any thread. */
void strobe_control_ask_to_end(struct strobe_control_server *s);

/* Lets the loop call idle_ms now. Any thread. */
void strobe_control_wake(struct strobe_control_server *s);

/* Closes the descriptors of a server whose thread does not exist: in the child of a fork. */
void strobe_control_forget(struct strobe_control_server *s);

/* Returns true when the token is the one expected. The time that it takes does not depend on where they differ. */
bool strobe_control_token_fits(const char expected[STROBE_CONTROL_TOKEN_BYTES + 1], struct strobe_request_part token);

#endif

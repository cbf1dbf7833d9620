#include "engine/control/server.h"

#include <string.h>

enum {
    REQUEST_MS = 5000,
    SEND_MS = 5000,
    DRAIN_MS = 1000,
    EXHAUSTED_MS = 200,         /* after an accept that found no descriptor or no memory */
    EXTEND_BYTES = 64 << 10,    /* a deadline is extended after so many bytes */
    SEND_BYTES_MAX = 256 << 10, /* sent to one client before another one's turn */
    DRAIN_BYTES_MAX = 1 << 20,  /* of a body that was refused */
};

typedef struct strobe_control_connection connection;

static uint64_t deadline_after(uint32_t ms)
{
    return strobe_socket_now_ns() + (uint64_t)ms * 1000000;
}

static bool is_transfer(const connection *c)
{
    return c->state == STROBE_CONNECTION_SEND && c->answer.bytes.at;
}

/* ---- access */

bool strobe_control_token_fits(const char expected[STROBE_CONTROL_TOKEN_BYTES + 1], struct strobe_request_part token)
{
    unsigned differs = !token.at || token.bytes != STROBE_CONTROL_TOKEN_BYTES;
    for (uint32_t i = 0; i < STROBE_CONTROL_TOKEN_BYTES; i++) {
        char c = token.bytes ? token.at[i < token.bytes ? i : 0] : '\0';
        differs |= (unsigned char)(expected[i] ^ c);
    }
    return !differs;
}

static bool may_connect(const struct strobe_control_server *s, int fd)
{
    const struct strobe_control_access *a = &s->options.access;
    uint32_t uid;
    if (!s->options.address.name[0])
        return true; /* the token decides */
    return strobe_socket_peer(fd, &uid) && (uid == a->uid || uid == 0 || (a->shell && uid == STROBE_CONTROL_SHELL_UID));
}

static bool choose_token(char token[STROBE_CONTROL_TOKEN_BYTES + 1])
{
    unsigned char drawn[STROBE_CONTROL_TOKEN_BYTES / 2];
    if (!strobe_socket_random(drawn, sizeof drawn))
        return false;
    for (uint32_t i = 0; i < STROBE_CONTROL_TOKEN_BYTES; i++)
        token[i] = "0123456789abcdef"[drawn[i / 2] >> (i % 2 ? 0 : 4) & 15];
    token[STROBE_CONTROL_TOKEN_BYTES] = '\0';
    return true;
}

/* ---- answers */

static void close_connection(struct strobe_control_server *s, connection *c)
{
    if (c->answer.bytes.at)
        s->options.actions->release(s->options.actions->ctx, &c->answer.bytes);
    c->answer.bytes.at = NULL;
    strobe_socket_close(c->fd);
    c->state = STROBE_CONNECTION_FREE;
}

static bool is_transfer_under_way(const struct strobe_control_server *s)
{
    for (int i = 0; i < STROBE_CONTROL_CONNECTIONS; i++)
        if (is_transfer(&s->connections[i]))
            return true;
    return false;
}

static void answer_request(struct strobe_control_server *s, connection *c)
{
    const struct strobe_request *r = &c->request;
    if (c->stranger)
        strobe_answer_sentence(&c->answer, 403, "expected a connection by the user of the program or by root", "");
    else if (r->state == STROBE_REQUEST_REFUSED)
        strobe_answer_sentence(&c->answer, r->refusal, r->reason, "");
    else if (!s->options.address.name[0] && !strobe_control_token_fits(s->options.access.token, r->token))
        strobe_answer_sentence(&c->answer, 401, "expected the server's token: Authorization: Bearer TOKEN", "");
    else
        strobe_control_route(s->options.actions, r, !is_transfer_under_way(s), &c->answer);
}

static void begin_answer(struct strobe_control_server *s, connection *c)
{
    c->head_bytes = strobe_answer_head(&c->answer, c->head);
    c->state = STROBE_CONNECTION_SEND;
    c->sent = c->extended = 0;
    c->deadline_ns = deadline_after(s->options.send_ms);
}

static void read_request(struct strobe_control_server *s, connection *c)
{
    char bytes[1024];
    long n = strobe_socket_read(c->fd, bytes, sizeof bytes);
    if (n < 0)
        close_connection(s, c);
    if (n <= 0)
        return;
    strobe_request_take(&c->request, bytes, (size_t)n);
    if (c->request.state == STROBE_REQUEST_MORE)
        return;
    answer_request(s, c);
    begin_answer(s, c);
}

/* Returns what is to be sent at the connection's place; 0 bytes: all is sent. */
static const char *rest_of_answer(const connection *c, size_t *bytes)
{
    const struct strobe_answer *a = &c->answer;
    uint64_t at = c->sent;
    const char *content = a->bytes.at ? a->bytes.at : a->text;
    size_t content_bytes = a->bytes.at ? a->bytes.bytes : a->length;
    if (at < c->head_bytes) {
        *bytes = c->head_bytes - (size_t)at;
        return c->head + at;
    }
    at -= c->head_bytes;
    *bytes = content_bytes - (size_t)at;
    return content + at;
}

static void finish_answer(struct strobe_control_server *s, connection *c)
{
    if (c->answer.bytes.at)
        s->options.actions->release(s->options.actions->ctx, &c->answer.bytes);
    c->answer.bytes.at = NULL;
    strobe_socket_finish(c->fd);
    c->state = STROBE_CONNECTION_DRAIN;
    c->sent = 0;
    c->deadline_ns = deadline_after(s->options.drain_ms);
}

static void send_answer(struct strobe_control_server *s, connection *c)
{
    size_t bytes, turn = 0;
    while (turn < SEND_BYTES_MAX) {
        const char *from = rest_of_answer(c, &bytes);
        if (!bytes) {
            finish_answer(s, c);
            return;
        }
        long n = strobe_socket_send(c->fd, from, bytes < SEND_BYTES_MAX ? bytes : SEND_BYTES_MAX);
        if (n < 0)
            close_connection(s, c);
        if (n <= 0)
            return;
        turn += (size_t)n;
        c->sent += (uint64_t)n;
        if (c->sent - c->extended >= EXTEND_BYTES) {
            c->extended = c->sent;
            c->deadline_ns = deadline_after(s->options.send_ms);
        }
    }
}

static void drain_connection(struct strobe_control_server *s, connection *c)
{
    char bytes[4096];
    long n = strobe_socket_read(c->fd, bytes, sizeof bytes);
    c->sent += n > 0 ? (uint64_t)n : 0;
    if (n < 0 || c->sent > DRAIN_BYTES_MAX)
        close_connection(s, c);
}

/* ---- the loop */

/* A request that comes too late gets an answer, too. */
static void end_late_connection(struct strobe_control_server *s, connection *c)
{
    if (c->state != STROBE_CONNECTION_READ) {
        close_connection(s, c);
        return;
    }
    strobe_answer_sentence(&c->answer, 408, "expected the whole request within its time", "");
    begin_answer(s, c);
}

static connection *find_free_connection(struct strobe_control_server *s)
{
    for (int i = 0; i < STROBE_CONTROL_CONNECTIONS; i++)
        if (s->connections[i].state == STROBE_CONNECTION_FREE)
            return &s->connections[i];
    return NULL;
}

static bool has_stranger(const struct strobe_control_server *s)
{
    for (int i = 0; i < STROBE_CONTROL_CONNECTIONS; i++)
        if (s->connections[i].state != STROBE_CONNECTION_FREE && s->connections[i].stranger)
            return true;
    return false;
}

static int keep_descriptor(const struct strobe_control_server *s, int fd)
{
    return fd >= 0 && s->options.raise ? s->options.raise(fd) : fd;
}

static void accept_connection(struct strobe_control_server *s)
{
    connection *c = find_free_connection(s);
    bool exhausted = false;
    int fd = c ? keep_descriptor(s, strobe_socket_accept(s->listener, &exhausted)) : -1;
    if (exhausted)
        s->accept_ns = deadline_after(EXHAUSTED_MS);
    if (fd < 0)
        return;
    bool stranger = !may_connect(s, fd);
    if (stranger && has_stranger(s)) {
        strobe_socket_close(fd);
        return;
    }
    c->fd = fd;
    c->stranger = stranger;
    c->state = STROBE_CONNECTION_READ;
    c->deadline_ns = deadline_after(s->options.request_ms);
    strobe_answer_begin(&c->answer, 0);
    strobe_request_begin(&c->request);
}

static void serve_connection(struct strobe_control_server *s, connection *c)
{
    if (c->state == STROBE_CONNECTION_READ)
        read_request(s, c);
    else if (c->state == STROBE_CONNECTION_SEND)
        send_answer(s, c);
    else
        drain_connection(s, c);
}

/* Fills in what to wait for: first the listener, while there is a free connection, then each connection. */
static uint32_t list_descriptors(struct strobe_control_server *s, struct pollfd *fds, uint64_t *deadline_ns)
{
    uint32_t count = 0;
    bool pauses = s->accept_ns > strobe_socket_now_ns();
    *deadline_ns = pauses ? s->accept_ns : UINT64_MAX;
    fds[count++] = (struct pollfd){.fd = find_free_connection(s) && !pauses ? s->listener : -1, .events = POLLIN};
    for (int i = 0; i < STROBE_CONTROL_CONNECTIONS; i++) {
        const connection *c = &s->connections[i];
        bool used = c->state != STROBE_CONNECTION_FREE;
        fds[count++] =
            (struct pollfd){.fd = used ? c->fd : -1, .events = c->state == STROBE_CONNECTION_SEND ? POLLOUT : POLLIN};
        if (used && c->deadline_ns < *deadline_ns)
            *deadline_ns = c->deadline_ns;
    }
    return count;
}

/* Returns the time until the deadline, rounded up to ms; without one, what idle_ms says. */
static int time_to_sleep(const struct strobe_control_server *s, uint64_t deadline_ns)
{
    uint64_t now = strobe_socket_now_ns();
    if (strobe_load_acquire(&s->stops))
        return STROBE_CONTROL_END;
    if (deadline_ns == UINT64_MAX)
        return s->options.idle_ms ? s->options.idle_ms() : -1;
    return deadline_ns <= now ? 0 : (int)((deadline_ns - now) / 1000000 + 1);
}

static void end_late_connections(struct strobe_control_server *s)
{
    uint64_t now = strobe_socket_now_ns();
    for (int i = 0; i < STROBE_CONTROL_CONNECTIONS; i++)
        if (s->connections[i].state != STROBE_CONNECTION_FREE && s->connections[i].deadline_ns <= now)
            end_late_connection(s, &s->connections[i]);
}

/* Returns false when the server ends: it is asked to, or the program has closed the listening socket or does not allow
 * the descriptors. */
static bool serve_once(struct strobe_control_server *s)
{
    struct pollfd fds[1 + STROBE_CONTROL_CONNECTIONS];
    uint64_t deadline_ns;
    uint32_t count = list_descriptors(s, fds, &deadline_ns);
    int ms = time_to_sleep(s, deadline_ns);
    if (ms == STROBE_CONTROL_END)
        return false;
    if (!strobe_socket_poll(fds, count, ms))
        return false;
    if (fds[0].revents & (POLLNVAL | POLLERR))
        return false;
    for (uint32_t i = 0; i < STROBE_CONTROL_CONNECTIONS; i++)
        if (fds[i + 1].revents)
            serve_connection(s, &s->connections[i]);
    end_late_connections(s);
    if (fds[0].revents)
        accept_connection(s);
    return true;
}

void strobe_control_serve(struct strobe_control_server *s)
{
    while (serve_once(s))
        continue;
    strobe_control_forget(s);
}

void strobe_control_forget(struct strobe_control_server *s)
{
    for (int i = 0; i < STROBE_CONTROL_CONNECTIONS; i++)
        if (s->connections[i].state != STROBE_CONNECTION_FREE)
            close_connection(s, &s->connections[i]);
    if (s->listener >= 0)
        strobe_socket_close(s->listener);
    s->listener = -1;
}

/* ---- start and end */

enum strobe_status strobe_control_open(struct strobe_control_server *s, const struct strobe_control_options *options,
                                       struct strobe_error *error)
{
    s->options = *options;
    struct strobe_control_options *o = &s->options;
    o->request_ms = o->request_ms ? o->request_ms : REQUEST_MS;
    o->send_ms = o->send_ms ? o->send_ms : SEND_MS;
    o->drain_ms = o->drain_ms ? o->drain_ms : DRAIN_MS;
    for (int i = 0; i < STROBE_CONTROL_CONNECTIONS; i++)
        s->connections[i].state = STROBE_CONNECTION_FREE;
    s->listener = -1;
    s->accept_ns = 0;
    strobe_store_relaxed(&s->stops, 0);
    if (!o->address.name[0] && !o->access.token[0] && !choose_token(o->access.token)) {
        strobe_error_join(error, "control", "the system has no random bytes for a token");
        return STROBE_IO;
    }
    enum strobe_status status = strobe_socket_listen(&o->address, &s->listener, error);
    s->listener = status == STROBE_OK ? keep_descriptor(s, s->listener) : -1;
    return status;
}

void strobe_control_wake(struct strobe_control_server *s)
{
    strobe_socket_nudge(&s->options.address);
}

void strobe_control_ask_to_end(struct strobe_control_server *s)
{
    strobe_store_release(&s->stops, 1);
    strobe_control_wake(s);
}

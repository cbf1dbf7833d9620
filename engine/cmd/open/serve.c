#include "engine/cmd/open/serve.h"

#include "engine/cmd/interrupts.h"
#include "engine/control/request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { CLIENTS_MOST = 16, REQUEST_SECONDS = 10, SEND_SECONDS = 30, CLOSE_SECONDS = 5 };

struct serve_client {
    int fd; /* -1 = none */
    uint64_t until_ns;
    struct strobe_request request;
};

/* What became of a request. */
enum served { SERVED_OTHER, SERVED_FILE, SERVED_FAILED };

int strobe_serve_listen(uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(*port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof at;
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) || bind(fd, (struct sockaddr *)&at, sizeof at) ||
        listen(fd, CLIENTS_MOST) || getsockname(fd, (struct sockaddr *)&at, &bytes)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    *port = ntohs(at.sin_port);
    return fd;
}

static bool send_all_bytes(int fd, const char *text, size_t bytes)
{
    for (ssize_t n; bytes; text += n, bytes -= (size_t)n)
        if ((n = send(fd, text, bytes, MSG_NOSIGNAL)) <= 0)
            return false;
    return true;
}

/* Sends the status, and the fields that all answers have. */
static bool send_answer_head(const struct strobe_serve *s, int fd, const char *status, const char *fields,
                             uint64_t bytes)
{
    char head[1024];
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 %s\r\nAccess-Control-Allow-Origin: %s\r\nVary: Origin\r\nCache-Control: no-cache\r\n"
                     "Content-Length: %" PRIu64 "\r\nConnection: close\r\n%s\r\n",
                     status, s->origin, bytes, fields);
    return n > 0 && (size_t)n < sizeof head && send_all_bytes(fd, head, (size_t)n);
}

/* Returns true when the field Host is this server's address. */
static bool is_own_host(const struct strobe_request *r, uint16_t port)
{
    char wanted[2][32];
    snprintf(wanted[0], sizeof wanted[0], "127.0.0.1:%u", port);
    snprintf(wanted[1], sizeof wanted[1], "localhost:%u", port);
    for (const char *line = r->text; (line = strstr(line, "\r\n")) && (size_t)(line - r->text) < r->head_bytes;) {
        line += 2;
        if (strncasecmp(line, "Host:", 5) != 0)
            continue;
        const char *value = line + 5 + strspn(line + 5, " \t");
        size_t bytes = strcspn(value, " \t\r\n");
        for (int i = 0; i < 2; i++)
            if (bytes == strlen(wanted[i]) && !strncasecmp(value, wanted[i], bytes))
                return true;
        return false;
    }
    return false;
}

/* Waits until the receiver has closed, because an earlier close can discard what it has not read yet. */
static bool wait_for_close(int fd)
{
    struct timeval most = {.tv_sec = CLOSE_SECONDS};
    char rest[512];
    ssize_t n;
    shutdown(fd, SHUT_WR);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    while ((n = recv(fd, rest, sizeof rest, 0)) > 0)
        ;
    return n == 0 || errno == EAGAIN || errno == EWOULDBLOCK;
}

static enum served send_served_file(const struct strobe_serve *s, int fd)
{
    off_t at = 0;
    if (!send_answer_head(s, fd, "200 OK", "Content-Type: application/octet-stream\r\n", s->bytes))
        return SERVED_OTHER;
    while ((uint64_t)at < s->bytes) {
        ssize_t n = sendfile(fd, s->file, &at, (size_t)(s->bytes - (uint64_t)at));
        if (n == 0) { /* the file has become shorter */
            errno = ESTALE;
            return SERVED_FAILED;
        }
        if (n < 0 && errno != EINTR)
            return errno == EIO ? SERVED_FAILED : SERVED_OTHER;
    }
    return wait_for_close(fd) ? SERVED_FILE : SERVED_OTHER;
}

static enum served answer_fetch(const struct strobe_serve *s, struct serve_client *c)
{
    const struct strobe_request *r = &c->request;
    struct timeval most = {.tv_sec = SEND_SECONDS};
    setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    bool known = r->state == STROBE_REQUEST_WHOLE && strobe_request_part_is(r->path, s->path);
    if (r->state == STROBE_REQUEST_REFUSED)
        send_answer_head(s, c->fd, "400 Bad Request", "", 0);
    else if (!is_own_host(r, s->port))
        send_answer_head(s, c->fd, "403 Forbidden", "", 0);
    else if (!known)
        send_answer_head(s, c->fd, "404 Not Found", "", 0);
    else if (r->method == STROBE_METHOD_GET)
        return send_served_file(s, c->fd);
    else if (!strncmp(r->text, "OPTIONS ", 8))
        send_answer_head(s, c->fd, "204 No Content",
                         "Access-Control-Allow-Methods: GET\r\nAccess-Control-Allow-Headers: *\r\n"
                         "Access-Control-Allow-Private-Network: true\r\n",
                         0);
    else
        send_answer_head(s, c->fd, "405 Method Not Allowed", "Allow: GET, OPTIONS\r\n", 0);
    wait_for_close(c->fd);
    return SERVED_OTHER;
}

static void close_client(struct serve_client *c)
{
    close(c->fd);
    c->fd = -1;
}

/* Reads what has arrived, and answers when the request is complete. */
static enum served advance_client(const struct strobe_serve *s, struct serve_client *c)
{
    char text[4096];
    ssize_t n = recv(c->fd, text, sizeof text, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return SERVED_OTHER;
    if (n > 0)
        strobe_request_take(&c->request, text, (size_t)n);
    enum served served = SERVED_OTHER;
    if (n > 0 && c->request.state == STROBE_REQUEST_MORE)
        return served;
    if (n > 0)
        served = answer_fetch(s, c);
    int error = errno;
    close_client(c);
    errno = error;
    return served;
}

/* Takes a new client. When there are too many, the oldest one is dropped. */
static void accept_client(const struct strobe_serve *s, struct serve_client *clients)
{
    struct serve_client *place = &clients[0];
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    for (int i = 0; i < CLIENTS_MOST && place->fd >= 0; i++)
        if (clients[i].fd < 0 || clients[i].until_ns < place->until_ns)
            place = &clients[i];
    if (place->fd >= 0)
        close_client(place);
    place->fd = fd;
    place->until_ns = strobe_interrupts_now_ns() + REQUEST_SECONDS * UINT64_C(1000000000);
    strobe_request_begin(&place->request);
}

int strobe_serve_once(const struct strobe_serve *s)
{
    static struct serve_client clients[CLIENTS_MOST];
    struct pollfd polled[CLIENTS_MOST + 1];
    for (int i = 0; i < CLIENTS_MOST; i++)
        clients[i].fd = -1;
    for (;;) {
        polled[CLIENTS_MOST] = (struct pollfd){.fd = s->listener, .events = POLLIN};
        for (int i = 0; i < CLIENTS_MOST; i++)
            polled[i] = (struct pollfd){.fd = clients[i].fd, .events = POLLIN};
        if (poll(polled, CLIENTS_MOST + 1, 1000) < 0 && errno != EINTR)
            return -1;
        for (int i = 0; i < CLIENTS_MOST; i++) {
            enum served served = SERVED_OTHER;
            if (clients[i].fd >= 0 && polled[i].revents)
                served = advance_client(s, &clients[i]);
            else if (clients[i].fd >= 0 && strobe_interrupts_now_ns() > clients[i].until_ns)
                close_client(&clients[i]);
            if (served != SERVED_OTHER)
                return served == SERVED_FILE ? 0 : -1;
        }
        if (polled[CLIENTS_MOST].revents)
            accept_client(s, clients);
    }
}

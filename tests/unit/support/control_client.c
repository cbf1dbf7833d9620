#include "tests/unit/support/control_client.h"
#include "tests/unit/support/trial.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000 };

static void client_must(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    abort();
}

int strobe_client_connect(const struct strobe_control_address *a)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_port = htons(a->port)};
    size_t n = strlen(a->name);
    memcpy(local.sun_path + 1, a->name, n);
    tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(n ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    client_must(fd >= 0, "socket");
    int failed = n ? connect(fd, (struct sockaddr *)&local, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n))
                   : connect(fd, (struct sockaddr *)&tcp, sizeof tcp);
    client_must(!failed, "connect");
    return fd;
}

bool strobe_client_send(int fd, const char *bytes, size_t count)
{
    while (count) {
        ssize_t n = send(fd, bytes, count, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        bytes += n;
        count -= (size_t)n;
    }
    return true;
}

/* Returns true when there is something to read. A sampled thread gets signals, which interrupt poll. */
static bool wait_for_bytes(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int ready;
    do
        ready = poll(&p, 1, PATIENCE_MS);
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

long strobe_client_finish(int fd, char *out, size_t out_bytes)
{
    char bytes[16384];
    long all = 0;
    ssize_t n = -1;
    while (wait_for_bytes(fd) && (n = recv(fd, bytes, sizeof bytes, 0)) > 0) {
        size_t kept = (size_t)all < out_bytes - 1 ? out_bytes - 1 - (size_t)all : 0;
        memcpy(out + all * (kept > 0), bytes, kept < (size_t)n ? kept : (size_t)n);
        all += n;
    }
    out[(size_t)all < out_bytes ? (size_t)all : out_bytes - 1] = '\0';
    close(fd);
    return n == 0 || all ? all : -1;
}

int strobe_client_status(const char *answer)
{
    int status = 0;
    return sscanf(answer, "HTTP/1.1 %d ", &status) == 1 ? status : 0;
}

int strobe_client_ask(const struct strobe_control_address *a, const char *request, char *out, size_t out_bytes)
{
    int fd = strobe_client_connect(a);
    strobe_client_send(fd, request, strlen(request));
    strobe_client_finish(fd, out, out_bytes);
    return strobe_client_status(out);
}

static const char *const texts[] = {
    "GET /status HTTP/1.1\r\n\r\n",
    "POST /start HTTP/1.1\r\nContent-Length: 12\r\n\r\nrecords=2048",
    "POST /start HTTP/1.1\r\nContent-Length: 6\r\n\r\npaused",
    "POST /stop HTTP/1.1\r\n\r\n",
    "POST /pause HTTP/1.1\r\n\r\n",
    "POST /resume HTTP/1.1\r\n\r\n",
    "GET /session HTTP/1.1\r\n\r\n",
    "GET /session/100000?last=1s HTTP/1.1\r\n\r\n",
    "POST /snapshot?last=5s HTTP/1.1\r\n\r\n",
    "GET /session/70 HTTP/1.1\r\nAuthorization: Bearer x\r\n\r\n",
};
const struct strobe_client_requests strobe_client_requests = {texts, sizeof texts / sizeof texts[0]};

int strobe_client_play(const struct strobe_control_address *a, const struct strobe_client_requests *requests,
                       uint64_t *seed, char *out, size_t out_bytes)
{
    enum { WHOLE, CHANGED, CUT, LEFT, KINDS };
    char text[STROBE_CLIENT_REQUEST_BYTES];
    const char *request = requests->text[strobe_trial_below(seed, requests->count)];
    size_t bytes = strnlen(request, sizeof text), first;
    uint32_t kind = strobe_trial_below(seed, KINDS);
    memcpy(text, request, bytes);
    for (uint32_t changes = kind == CHANGED ? 1 + strobe_trial_below(seed, 3) : 0; changes--;)
        text[strobe_trial_below(seed, (uint32_t)bytes)] = (char)strobe_trial_random(seed);
    bytes = kind == CUT ? strobe_trial_below(seed, (uint32_t)bytes) : bytes;
    first = strobe_trial_below(seed, (uint32_t)bytes + 1);
    int fd = strobe_client_connect(a);
    strobe_client_send(fd, text, first);
    strobe_client_send(fd, text + first, bytes - first);
    if (kind == LEFT) {
        (void)!recv(fd, text, strobe_trial_below(seed, sizeof text), MSG_DONTWAIT);
        close(fd);
        return -1;
    }
    shutdown(fd, SHUT_WR);
    strobe_client_finish(fd, out, out_bytes);
    return kind == WHOLE ? strobe_client_status(out) : -1;
}

#include "engine/control/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__
#include <sys/random.h>
enum { SEND_FLAGS = 0 };
#else
#include <sys/syscall.h>
enum { SEND_FLAGS = MSG_NOSIGNAL };
#endif

enum { BACKLOG = 8 };

/* An address in the form of the system's calls. */
struct system_address {
    union {
        struct sockaddr any;
        struct sockaddr_in tcp;
        struct sockaddr_un local;
    } u;
    socklen_t bytes;
};

/* The first byte of an abstract name is NUL. The length says where the name ends. */
static struct system_address to_system_address(const struct strobe_control_address *a)
{
    struct system_address s;
    memset(&s, 0, sizeof s);
    if (a->name[0]) {
        size_t n = strlen(a->name);
        _Static_assert(sizeof a->name < sizeof s.u.local.sun_path, "a name fits");
        s.u.local.sun_family = AF_UNIX;
        memcpy(s.u.local.sun_path + 1, a->name, n);
        s.bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
        return s;
    }
    s.u.tcp.sin_family = AF_INET;
    s.u.tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s.u.tcp.sin_port = htons(a->port);
    s.bytes = sizeof s.u.tcp;
    return s;
}

static bool prepare_descriptor(int fd)
{
#ifdef __APPLE__
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    int flags = fcntl(fd, F_GETFL);
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static int open_socket(const struct strobe_control_address *a)
{
    int fd = socket(a->name[0] ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && !prepare_descriptor(fd)) {
        close(fd);
        return -1;
    }
    return fd;
}

static enum strobe_status explain_no_listener(const struct strobe_control_address *a, struct strobe_error *error)
{
    bool taken = errno == EADDRINUSE;
    struct strobe_error why;
    strobe_error_join(&why, a->name[0] ? a->name : "port", taken ? "is taken already" : "cannot listen there");
    strobe_error_join(error, "control", why.text);
    return taken ? STROBE_EXISTS : STROBE_IO;
}

/* A port that was in use a moment ago may be used again: connections of the last server are no obstacle. */
enum strobe_status strobe_socket_listen(struct strobe_control_address *a, int *fd, struct strobe_error *error)
{
    struct system_address s = to_system_address(a);
    int on = 1;
#ifdef __APPLE__
    if (a->name[0]) {
        strobe_error_join(error, "control", "this system has no abstract Unix sockets: use control-port=");
        return STROBE_UNSUPPORTED;
    }
#endif
    *fd = open_socket(a);
    if (*fd < 0)
        return explain_no_listener(a, error);
    if (!a->name[0])
        setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(*fd, &s.u.any, s.bytes) == 0 && listen(*fd, BACKLOG) == 0 &&
        (a->name[0] || getsockname(*fd, &s.u.any, &s.bytes) == 0)) {
        a->port = a->name[0] ? 0 : ntohs(s.u.tcp.sin_port);
        return STROBE_OK;
    }
    int saved = errno;
    close(*fd);
    errno = saved;
    return explain_no_listener(a, error);
}

int strobe_socket_accept(int listener, bool *exhausted)
{
    int fd = accept(listener, NULL, NULL);
    *exhausted = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
    if (fd >= 0 && !prepare_descriptor(fd)) {
        close(fd);
        return -1;
    }
    return fd;
}

bool strobe_socket_peer(int fd, uint32_t *uid)
{
#ifdef __APPLE__
    (void)fd, (void)uid;
    return false;
#else
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || bytes != sizeof peer)
        return false;
    *uid = peer.uid;
    return true;
#endif
}

void strobe_socket_nudge(const struct strobe_control_address *a)
{
    struct system_address s = to_system_address(a);
    int fd = open_socket(a);
    if (fd < 0)
        return;
    (void)connect(fd, &s.u.any, s.bytes);
    close(fd);
}

bool strobe_socket_poll(struct pollfd *fds, uint32_t count, int ms)
{
    if (poll(fds, count, ms) >= 0)
        return true;
    for (uint32_t i = 0; i < count; i++)
        fds[i].revents = 0;
    return errno == EINTR || errno == EAGAIN;
}

static long result_of_transfer(ssize_t n)
{
    return n > 0 ? (long)n : n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? 0 : -1;
}

long strobe_socket_read(int fd, void *to, size_t bytes)
{
    return result_of_transfer(recv(fd, to, bytes, 0));
}

long strobe_socket_send(int fd, const void *from, size_t bytes)
{
    return result_of_transfer(send(fd, from, bytes, SEND_FLAGS));
}

void strobe_socket_finish(int fd)
{
    shutdown(fd, SHUT_WR);
}

void strobe_socket_close(int fd)
{
    close(fd);
}

bool strobe_socket_random(void *to, size_t bytes)
{
#ifdef __APPLE__
    return getentropy(to, bytes) == 0;
#else
    return syscall(SYS_getrandom, to, bytes, 0) == (long)bytes;
#endif
}

uint64_t strobe_socket_now_ns(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

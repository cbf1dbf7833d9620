/* What the capture half uses of Darwin's <sys/socket.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_SOCKET_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_SOCKET_H

#include <sys/types.h>

typedef uint32_t socklen_t;

enum { AF_UNIX = 1, AF_INET = 2, SOCK_STREAM = 1, SHUT_WR = 1 };
enum { SOL_SOCKET = 0xffff, SO_REUSEADDR = 4, SO_NOSIGPIPE = 0x1022 };

struct sockaddr {
    uint8_t sa_len, sa_family;
    char sa_data[14];
};
struct msghdr;

int socket(int family, int type, int protocol);
int bind(int fd, const struct sockaddr *at, socklen_t length);
int listen(int fd, int backlog);
int shutdown(int fd, int how);
int getsockname(int fd, struct sockaddr *out, socklen_t *length);
int setsockopt(int fd, int level, int option, const void *value, socklen_t length);

int connect(int fd, const struct sockaddr *to, socklen_t length);
int accept(int fd, struct sockaddr *from, socklen_t *length);
ssize_t send(int fd, const void *from, size_t bytes, int flags);
ssize_t sendto(int fd, const void *from, size_t bytes, int flags, const struct sockaddr *to, socklen_t length);
ssize_t sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t recv(int fd, void *to, size_t bytes, int flags);
ssize_t recvfrom(int fd, void *to, size_t bytes, int flags, struct sockaddr *from, socklen_t *length);
ssize_t recvmsg(int fd, struct msghdr *message, int flags);
int getsockopt(int fd, int level, int option, void *out, socklen_t *length);

#endif

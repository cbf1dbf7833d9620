/* What the capture half uses of Android's <sys/socket.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_SOCKET_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_SOCKET_H

#include <asm/socket.h>
#include <linux/socket.h>
#include <sys/types.h>

#define AF_UNIX      1
#define AF_INET      2
#define SOCK_STREAM  1
#define SHUT_WR      1
#define MSG_NOSIGNAL 0x4000

typedef uint32_t socklen_t;
typedef unsigned short sa_family_t;
struct mmsghdr;
struct msghdr;
struct timespec;

struct sockaddr {
    sa_family_t sa_family;
    char sa_data[14];
};
struct ucred {
    pid_t pid;
    uid_t uid;
    gid_t gid;
};

int socket(int domain, int type, int protocol);
int bind(int fd, const struct sockaddr *at, socklen_t length);
int listen(int fd, int backlog);
int shutdown(int fd, int how);
int getsockname(int fd, struct sockaddr *out, socklen_t *length);
int getsockopt(int fd, int level, int option, void *out, socklen_t *length);
int setsockopt(int fd, int level, int option, const void *value, socklen_t length);
int socketpair(int domain, int type, int protocol, int ends[2]);
int connect(int fd, const struct sockaddr *to, socklen_t length);
int accept(int fd, struct sockaddr *from, socklen_t *length);
int accept4(int fd, struct sockaddr *from, socklen_t *length, int flags);
ssize_t send(int fd, const void *from, size_t bytes, int flags);
ssize_t sendto(int fd, const void *from, size_t bytes, int flags, const struct sockaddr *to, socklen_t length);
ssize_t sendmsg(int fd, const struct msghdr *message, int flags);
int sendmmsg(int fd, const struct mmsghdr *messages, unsigned count, int flags);
ssize_t recv(int fd, void *to, size_t bytes, int flags);
ssize_t recvfrom(int fd, void *to, size_t bytes, int flags, struct sockaddr *from, socklen_t *length);
ssize_t recvmsg(int fd, struct msghdr *message, int flags);
int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, const struct timespec *timeout);

#endif

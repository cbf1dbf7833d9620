/* What the capture half uses of Darwin's <sys/socket.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_SOCKET_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_SOCKET_H

#include <sys/types.h>

typedef uint32_t socklen_t;
struct sockaddr;
struct msghdr;

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

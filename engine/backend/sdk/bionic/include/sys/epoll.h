/* What the capture half uses of Android's <sys/epoll.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_EPOLL_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_EPOLL_H

#include <signal.h>
#include <sys/types.h>

#define EPOLLIN       1
#define EPOLL_CTL_ADD 1
#define EPOLL_CTL_DEL 2
#define EPOLL_CTL_MOD 3

typedef union {
    void *ptr;
    int fd;
    uint32_t u32;
    uint64_t u64;
} epoll_data_t;

struct epoll_event {
    uint32_t events;
    epoll_data_t data;
}
#ifdef __x86_64__
__attribute__((packed))
#endif
;

int epoll_create(int size);
int epoll_create1(int flags);
int epoll_ctl(int set, int operation, int fd, struct epoll_event *event);
int epoll_wait(int set, struct epoll_event *events, int count, int timeout);
int epoll_pwait(int set, struct epoll_event *events, int count, int timeout, const sigset_t *mask);

#endif

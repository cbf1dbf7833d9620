/* Compile-time checks of the declarations in include/ against bionic's ABI. Sources: the public headers of Android's C
 * library (bits/pthread_types.h, bits/signal_types.h, semaphore.h, sys/stat.h, sys/ucontext.h, link.h) and of the
 * kernel. Compiled with the library; this file has no code. */
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <ucontext.h>

#define SIZE(type, bytes)         _Static_assert(sizeof(type) == (bytes), #type)
#define PLACE(type, field, bytes) _Static_assert(offsetof(type, field) == (bytes), #type "." #field)

#ifdef __LP64__
SIZE(off_t, 8);
SIZE(struct sigaction, 32);
PLACE(struct sigaction, sa_sigaction, 8);
PLACE(struct sigaction, sa_mask, 16);
SIZE(sigset_t, 8);
SIZE(pthread_attr_t, 56);
PLACE(pthread_attr_t, stack_size, 16);
SIZE(struct timespec, 16);
SIZE(struct rusage, 144);
SIZE(struct dl_phdr_info, 64);
SIZE(siginfo_t, 128);
SIZE(pthread_mutex_t, 40);
SIZE(pthread_cond_t, 48);
SIZE(pthread_rwlock_t, 56);
SIZE(pthread_barrier_t, 32);
SIZE(sem_t, 16);
#else
SIZE(off_t, 4);
SIZE(struct sigaction, 16);
PLACE(struct sigaction, sa_mask, 4);
PLACE(struct sigaction, sa_flags, 8);
SIZE(sigset_t, 4);
SIZE(pthread_attr_t, 24);
PLACE(pthread_attr_t, stack_size, 8);
SIZE(struct timespec, 8);
SIZE(struct rusage, 72);
SIZE(siginfo_t, 128);
SIZE(pthread_mutex_t, 4);
SIZE(pthread_cond_t, 4);
SIZE(pthread_rwlock_t, 40);
SIZE(pthread_barrier_t, 32);
SIZE(sem_t, 4);
#endif
SIZE(struct pollfd, 8);
SIZE(fd_set, 128);

#if defined(__aarch64__)
SIZE(struct epoll_event, 16);
SIZE(struct stat, 128);
PLACE(struct stat, st_size, 48);
PLACE(ucontext_t, uc_mcontext, 176);
PLACE(mcontext_t, sp, 256);
PLACE(mcontext_t, pc, 264);
#elif defined(__x86_64__)
SIZE(struct epoll_event, 12);
SIZE(struct stat, 144);
PLACE(struct stat, st_size, 48);
PLACE(ucontext_t, uc_mcontext, 40);
_Static_assert(REG_RIP == 16 && REG_RSP == 15 && REG_RBP == 10, "places of registers");
#elif defined(__arm__)
SIZE(struct epoll_event, 16);
SIZE(struct stat, 104);
PLACE(struct stat, st_size, 48);
PLACE(ucontext_t, uc_mcontext, 20);
PLACE(mcontext_t, arm_pc, 72);
#endif

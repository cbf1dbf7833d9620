/* Compile-time checks of the declarations in include/ against bionic's ABI. Sources: the public headers of Android's C
 * library (bits/pthread_types.h, bits/signal_types.h, sys/stat.h, sys/ucontext.h, link.h) and of the kernel. Compiled
 * with the library; this file has no code. */
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/resource.h>
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
#endif

#if defined(__aarch64__)
SIZE(struct stat, 128);
PLACE(struct stat, st_size, 48);
PLACE(ucontext_t, uc_mcontext, 176);
PLACE(mcontext_t, sp, 256);
PLACE(mcontext_t, pc, 264);
#elif defined(__x86_64__)
SIZE(struct stat, 144);
PLACE(struct stat, st_size, 48);
PLACE(ucontext_t, uc_mcontext, 40);
_Static_assert(REG_RIP == 16 && REG_RSP == 15 && REG_RBP == 10, "places of registers");
#elif defined(__arm__)
SIZE(struct stat, 104);
PLACE(struct stat, st_size, 48);
PLACE(ucontext_t, uc_mcontext, 20);
PLACE(mcontext_t, arm_pc, 72);
#endif

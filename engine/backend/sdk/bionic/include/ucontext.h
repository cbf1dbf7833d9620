/* The context that the kernel stores on a signal handler's stack, under the names that C libraries use. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_UCONTEXT_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_UCONTEXT_H

#include <signal.h>

#include <asm/sigcontext.h>

#if defined(__x86_64__)
enum {
    REG_R8,
    REG_R9,
    REG_R10,
    REG_R11,
    REG_R12,
    REG_R13,
    REG_R14,
    REG_R15,
    REG_RDI,
    REG_RSI,
    REG_RBP,
    REG_RBX,
    REG_RDX,
    REG_RAX,
    REG_RCX,
    REG_RSP,
    REG_RIP
};
typedef int64_t greg_t;
typedef struct {
    greg_t gregs[23];
    void *fpregs;
    uint64_t reserved[8];
} mcontext_t;
#else
typedef struct sigcontext mcontext_t;
#endif

typedef struct ucontext {
    unsigned long uc_flags;
    struct ucontext *uc_link;
    struct {
        void *ss_sp;
        int ss_flags;
        size_t ss_size;
    } uc_stack;
#if defined(__aarch64__)
    sigset_t uc_sigmask;
    char room[128 - sizeof(sigset_t)];
    mcontext_t uc_mcontext;
#else
    mcontext_t uc_mcontext;
    sigset_t uc_sigmask;
#endif
} ucontext_t;

#endif

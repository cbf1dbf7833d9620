/* What the capture half uses of Android's <signal.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SIGNAL_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SIGNAL_H

#include <asm/siginfo.h>
#include <sys/types.h>
#include <time.h>

typedef unsigned long sigset_t;
typedef struct siginfo siginfo_t;

/* The order of the fields differs between 64-bit and 32-bit machines. */
#ifdef __LP64__
struct sigaction {
    int sa_flags;
    union {
        void (*sa_handler)(int);
        void (*sa_sigaction)(int, siginfo_t *, void *);
    };
    sigset_t sa_mask;
    void (*sa_restorer)(void);
};
#else
struct sigaction {
    union {
        void (*sa_handler)(int);
        void (*sa_sigaction)(int, siginfo_t *, void *);
    };
    sigset_t sa_mask;
    int sa_flags;
    void (*sa_restorer)(void);
};
#endif

#define SIGQUIT 3
#define SIGILL  4
#define SIGTRAP 5
#define SIGABRT 6
#define SIGBUS  7
#define SIGFPE  8
#define SIGSEGV 11

#define SIG_DFL     ((void (*)(int))0)
#define SIG_IGN     ((void (*)(int))1)
#define SIG_BLOCK   0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2
#define SA_SIGINFO  4
#define SA_RESTART  0x10000000
#define SA_ONSTACK  0x08000000

int __libc_current_sigrtmin(void);
int __libc_current_sigrtmax(void);
#define SIGRTMIN __libc_current_sigrtmin()
#define SIGRTMAX __libc_current_sigrtmax()

int sigaction(int number, const struct sigaction *action, struct sigaction *before);
int sigfillset(sigset_t *set);
int sigemptyset(sigset_t *set);
int sigaddset(sigset_t *set, int number);
int sigismember(const sigset_t *set, int number);
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before);
int kill(pid_t pid, int number);

#endif

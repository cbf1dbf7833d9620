/* What the capture half uses of Darwin's <signal.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_SIGNAL_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_SIGNAL_H

#include <sys/types.h>

typedef uint32_t sigset_t;
#define SIG_SETMASK     3
#define sigfillset(set) (*(set) = ~(sigset_t)0, 0)

int pthread_sigmask(int how, const sigset_t *set, sigset_t *before);

#endif

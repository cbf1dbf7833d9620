/* What the capture half uses of Android's <sys/wait.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_WAIT_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_WAIT_H

#include <signal.h>
#include <sys/types.h>

typedef int idtype_t; /* an enumeration there */
struct rusage;

pid_t wait(int *status);
pid_t waitpid(pid_t pid, int *status, int options);
pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage);
int waitid(idtype_t type, id_t id, siginfo_t *info, int options);

#endif

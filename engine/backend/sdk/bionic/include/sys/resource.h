/* What the capture half uses of Android's <sys/resource.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_RESOURCE_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_RESOURCE_H

#include <sys/types.h>

#define RUSAGE_THREAD 1

struct timeval {
    time_t tv_sec;
    long tv_usec;
};
struct rusage {
    struct timeval ru_utime, ru_stime;
    long ru_maxrss, ru_ixrss, ru_idrss, ru_isrss, ru_minflt, ru_majflt, ru_nswap, ru_inblock, ru_oublock, ru_msgsnd,
        ru_msgrcv, ru_nsignals, ru_nvcsw, ru_nivcsw;
};

#define RLIMIT_STACK  3
#define RLIMIT_NOFILE 7
#define RLIM_INFINITY (~0ul)

struct rlimit {
    unsigned long rlim_cur, rlim_max;
};
int getrlimit(int resource, struct rlimit *limit);

#define PRIO_PROCESS 0
int setpriority(int which, id_t who, int nice);

#endif

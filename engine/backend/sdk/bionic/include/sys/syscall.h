/* The kernel's system call numbers, under the names with SYS_ that C libraries use. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_SYSCALL_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_SYSCALL_H

#include <asm/unistd.h>

#define SYS_clock_gettime   __NR_clock_gettime
#define SYS_clock_nanosleep __NR_clock_nanosleep
#define SYS_close           __NR_close
#define SYS_close_range     __NR_close_range
#ifdef __NR_fcntl64
#define SYS_fcntl __NR_fcntl64
#else
#define SYS_fcntl __NR_fcntl
#endif
#define SYS_futex              __NR_futex
#define SYS_getdents64         __NR_getdents64
#define SYS_getpid             __NR_getpid
#define SYS_getrandom          __NR_getrandom
#define SYS_getrusage          __NR_getrusage
#define SYS_gettid             __NR_gettid
#define SYS_memfd_create       __NR_memfd_create
#define SYS_nanosleep          __NR_nanosleep
#define SYS_openat             __NR_openat
#define SYS_prctl              __NR_prctl
#define SYS_pread64            __NR_pread64
#define SYS_process_vm_readv   __NR_process_vm_readv
#define SYS_read               __NR_read
#define SYS_readlinkat         __NR_readlinkat
#define SYS_restart_syscall    __NR_restart_syscall
#define SYS_rt_sigaction       __NR_rt_sigaction
#define SYS_rt_tgsigqueueinfo  __NR_rt_tgsigqueueinfo
#define SYS_sched_setscheduler __NR_sched_setscheduler
#define SYS_tgkill             __NR_tgkill
#define SYS_write              __NR_write

#endif

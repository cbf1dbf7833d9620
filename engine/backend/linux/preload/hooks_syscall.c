/* System calls that the program makes through the C library's `syscall`: those that end a thread, a process or a
 * program, or restrict system calls. hooks_jump.S makes the other calls itself. */
#include "engine/backend/linux/preload/hook.h"
#include "engine/backend/linux/preload/own_threads.h"
#include "engine/backend/linux/preload/restrict.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

long strobe_syscall_raw(long number, ...);
long strobe_syscall_watched(long number, ...);

/* Detaches a thread that ends by SYS_exit, of which the C library does not know. */
static void detach_ending_thread(int status)
{
    struct strobe_thread *t = strobe_preload_thread();
    strobe_own_threads_note_exit((uint32_t)status);
    if (t && strobe_switched() != STROBE_OFF && !strobe_load_relaxed(&t->inside))
        strobe_thread_detach(t);
}

/* With TSYNC, a failed call may return the id of the thread that prevented it. */
static long call_seccomp(const long a[6])
{
    bool all = a[0] == SECCOMP_SET_MODE_FILTER && a[1] & SECCOMP_FILTER_FLAG_TSYNC;
    strobe_restrict_begin(all);
    long r = strobe_syscall_raw(SYS_seccomp, a[0], a[1], a[2], a[3], a[4], a[5]);
    strobe_restrict_end(all, r >= 0 && (!all || a[1] & SECCOMP_FILTER_FLAG_NEW_LISTENER || r == 0));
    return r;
}

long strobe_syscall_watched(long number, ...)
{
    va_list arguments;
    long a[6];
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_execve)
        return execve((const char *)a[0], (char *const *)a[1], (char *const *)a[2]);
    if (number == SYS_prctl)
        return prctl((int)a[0], a[1], a[2], a[3], a[4]);
    if (number == SYS_seccomp && strobe_restrict_by_seccomp((unsigned long)a[0]))
        return call_seccomp(a);
    if (number == SYS_exit)
        detach_ending_thread((int)a[0]);
    if (number == SYS_exit_group)
        strobe_preload_close();
    return strobe_syscall_raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

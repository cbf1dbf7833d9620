#include "engine/cmd/attach/safe.h"

#include <string.h>
#include <sys/syscall.h>

enum { BASE_FRAMES_MAX = 4 };

/* Waits in which the C library holds no lock. An interruption has no effect that the program could see. A write may
 * have transferred a part of its bytes, and would return their number. */
static bool is_plain_wait(long call)
{
    switch (call) {
    case SYS_read:
    case SYS_readv:
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_accept:
    case SYS_accept4:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_rt_sigsuspend:
#ifdef SYS_poll
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
    case SYS_pause:
#endif
        return true;
    default: return false;
    }
}

bool strobe_call_may_be_interrupted(long call)
{
    return call < 0 || call == SYS_futex || is_plain_wait(call);
}

/* Functions of the C library that wait for a futex of the program, and hold no lock meanwhile. */
static bool is_named_wait(const char *function)
{
    static const char *const names[] = {
        "pthread_cond_wait",
        "pthread_cond_timedwait",
        "pthread_cond_clockwait",
        "pthread_mutex_lock",
        "sem_wait",
        "sem_timedwait",
        "sem_clockwait",
        "pthread_rwlock_rdlock",
        "syscall",
        "pthread_rwlock_wrlock",
        "pthread_barrier_wait",
        "pthread_join",
        "pthread_clockjoin_np",
        "pthread_timedjoin_np",
    };
    for (size_t i = 0; function && i < sizeof names / sizeof *names; i++) {
        const char *at = strstr(function, names[i]); /* aliases have a prefix such as ___ */
        if (at && !at[strlen(names[i])] && strspn(function, "_") == (size_t)(at - function))
            return true;
    }
    return false;
}

static bool names_allocation(const char *function)
{
    static const char *const parts[] = {"malloc",        "calloc", "realloc", "memalign", "valloc",
                                        "aligned_alloc", "_Znw",   "_Zna",    "_Zdl",     "_Zda"};
    if (!function)
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(function, parts[i]))
            return true;
    size_t length = strlen(function);
    return length >= 4 && !strcmp(function + length - 4, "free"); /* also __libc_free and the like */
}

/* Returns the number of frames of the C library from frame `from` on. */
static size_t count_libc_frames(const struct strobe_frame *frames, size_t count, size_t from)
{
    size_t n = 0;
    while (from + n < count && frames[from + n].place == STROBE_FRAME_LIBC)
        n++;
    return n;
}

/* The function that calls main. Its caller is the program's entry, which has no name in a program without symbols. */
static bool starts_main(const struct strobe_frame *frame)
{
    return frame->function && strstr(frame->function, "libc_start_main");
}

static const char *judge_innermost(const struct strobe_frame *frames, size_t leaves, long call)
{
    if (!leaves && call < 0)
        return NULL;
    if (call < 0)
        return "is in a function of the C library";
    if (is_plain_wait(call))
        return NULL;
    if (call == SYS_futex && leaves && is_named_wait(frames[leaves - 1].function))
        return NULL;
    return "is in a system call that may hold a lock of the C library";
}

const char *strobe_unsafe_reason(const struct strobe_frame *frames, size_t count, long call, bool complete)
{
    for (size_t i = 0; i < count; i++) {
        if (frames[i].place == STROBE_FRAME_LINKER)
            return "is in the dynamic linker";
        if (frames[i].place == STROBE_FRAME_SIGNAL)
            return "is in a signal handler";
        if (names_allocation(frames[i].function))
            return "allocates memory";
    }
    if (!complete || !count)
        return "has a stack that cannot be walked to its end";
    size_t leaves = count_libc_frames(frames, count, 0);
    const char *why = judge_innermost(frames, leaves, call);
    for (size_t i = leaves; i < count && !why; i++) {
        size_t libc = count_libc_frames(frames, count, i);
        bool is_base = i + libc == count || (i + libc + 1 == count && libc && starts_main(&frames[i + libc - 1]));
        if (libc && (!is_base || libc > BASE_FRAMES_MAX))
            why = "is in a callback of the C library";
        i += libc;
    }
    return why;
}

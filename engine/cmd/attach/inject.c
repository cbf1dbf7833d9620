#include "engine/cmd/attach/inject.h"

#include "engine/backend/linux/attach/attach.h"
#include "engine/base/error_format.h"
#include "engine/cmd/attach/frames.h"
#include "engine/cmd/attach/tracee.h"
#include "engine/cmd/interrupts.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    THREADS_MAX = 4096,
    CALL_MS = 300,               /* time in which a call must return, else the linker's lock may be held */
    ROOM_BYTES = 64 * 1024,      /* of the thread's stack, below its present end */
    MAIN_ROOM_BYTES = 12 * 1024, /* the same where the kernel enlarges the stack */
    PATHS_BYTES = 2 * PATH_MAX,
    PAUSE_MAX_NS = 4000000,
    PATIENCE = 100, /* times CALL_MS for a call that must not be left half done */
};

static const uint64_t SEARCH_NS = 5000000000u; /* time in which a thread must come to a safe point */

struct injection {
    struct strobe_remote remote;
    struct strobe_tracee thread;
    struct strobe_injected *out;
    bool (*use)(struct injection *); /* makes the calls; returns false when another thread must be tried */
    const char *library, *session;
    uint64_t end, handle;
    pid_t helper;       /* the thread of the library; 0: not known */
    const char *unsafe; /* why the last thread was not used */
    bool linker_busy;   /* the last thread had to wait for the dynamic linker */
};

/* ---- choosing a thread ---- */

/* Threads that wait in a call which the kernel restarts by itself come first. */
enum preference { WAITS, RUNS, WAITS_FOR_EVENTS, UNFIT };

static enum preference judge_call(long call)
{
    if (call < 0)
        return RUNS;
    if (!strobe_call_may_be_interrupted(call))
        return UNFIT;
#ifdef SYS_epoll_wait
    if (call == SYS_epoll_wait)
        return WAITS_FOR_EVENTS;
#endif
    return call == SYS_epoll_pwait ? WAITS_FOR_EVENTS : WAITS;
}

/* Reads what a thread does from /proc/PID/task/TID/syscall: `running`, or a number first. */
static enum preference look_at_thread(pid_t pid, pid_t tid)
{
    char path[64], line[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? 0 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    if (bytes <= 0)
        return UNFIT;
    line[bytes] = '\0';
    return judge_call(line[0] == 'r' ? -1 : strtol(line, NULL, 10));
}

static uint32_t list_threads(pid_t pid, pid_t *tids)
{
    char path[64];
    uint32_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && count < THREADS_MAX && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            tids[count++] = (pid_t)strtol(e->d_name, NULL, 10);
    if (d)
        closedir(d);
    return count;
}

/* Returns true when the thread's stack has room for the calls. */
static bool has_stack_room(pid_t pid, uint64_t sp)
{
    char path[64], line[PATH_MAX + 128];
    bool room = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        unsigned long start, end;
        if (sscanf(line, "%lx-%lx", &start, &end) == 2 && sp >= start && sp < end)
            room = sp - start >= (strstr(line, "[stack]") ? MAIN_ROOM_BYTES : ROOM_BYTES);
    }
    if (f)
        fclose(f);
    return room;
}

/* ---- calls ---- */

static enum strobe_status call_remote(struct injection *j, uint64_t function, uint64_t first, uint64_t second,
                                      uint64_t *result)
{
    return strobe_tracee_call(&j->thread, function, first, second, strobe_tracee_sp(&j->thread) - PATHS_BYTES, CALL_MS,
                              result);
}

/* The same for a call that must not be left half done. */
static enum strobe_status call_to_end(struct injection *j, uint64_t function, uint64_t first, uint64_t second,
                                      uint64_t *result)
{
    enum strobe_status status = call_remote(j, function, first, second, result);
    for (int i = 0; i < PATIENCE && status == STROBE_LATE; i++)
        status = strobe_tracee_call_on(&j->thread, CALL_MS, result);
    return status;
}

/* Writes a text below the thread's stack, above the frames of the calls. Returns its address, or 0. */
static uint64_t put_remote_text(const struct injection *j, const char *text)
{
    uint64_t at = strobe_tracee_sp(&j->thread) - PATHS_BYTES;
    return strobe_tracee_write(j->remote.pid, at, text, strlen(text) + 1) ? at : 0;
}

static bool is_mapped(pid_t pid, const char *file)
{
    char path[64], line[PATH_MAX + 128];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f))
        found = strstr(line, file) != NULL;
    if (f)
        fclose(f);
    return found;
}

/* dlopen waits while another thread holds the dynamic linker's lock. As long as the library is not mapped, the call has
 * done nothing, and the thread can be restored in the middle of it. */
static enum strobe_status call_dlopen(struct injection *j, uint64_t *handle)
{
    enum strobe_status status =
        call_remote(j, j->remote.dlopen, put_remote_text(j, j->library), RTLD_NOW | RTLD_LOCAL, handle);
    while (status == STROBE_LATE && is_mapped(j->remote.pid, j->library))
        status = strobe_tracee_call_on(&j->thread, CALL_MS, handle);
    return status;
}

static void take_dlerror(struct injection *j)
{
    uint64_t text = 0;
    char line[256] = "";
    if (call_remote(j, j->remote.dlerror, 0, 0, &text) == STROBE_OK && text)
        for (size_t i = 0; i + 1 < sizeof line && strobe_tracee_read(j->remote.pid, text + i, line + i, 1) && line[i];)
            line[++i] = '\0';
    strobe_error_set(&j->out->error, "the program cannot load %s: %s", j->library, line[0] ? line : "no reason given");
}

static void begin_remote_capture(struct injection *j, uint64_t handle)
{
    uint64_t begin = 0, state = 0, unused;
    if (call_to_end(j, j->remote.dlsym, handle, put_remote_text(j, STROBE_ATTACH_BEGIN), &begin) == STROBE_OK &&
        begin && call_to_end(j, begin, put_remote_text(j, j->session), handle, &state) == STROBE_OK && state) {
        j->out->state = state;
        j->out->done = true;
        return;
    }
    call_to_end(j, j->remote.dlclose, handle, 0, &unused);
    strobe_error_set(&j->out->error, "the program cannot start a thread");
}

static bool load_library(struct injection *j)
{
    uint64_t handle = 0;
    switch (call_dlopen(j, &handle)) {
    case STROBE_OK:
        if (handle)
            begin_remote_capture(j, handle);
        else
            take_dlerror(j);
        return true;
    case STROBE_LATE:
        j->unsafe = "waits for the dynamic linker";
        j->linker_busy = true;
        return false;
    case STROBE_GONE: j->unsafe = "has ended"; return false;
    case STROBE_IO: j->unsafe = "cannot be changed"; return false;
    default: strobe_error_set(&j->out->error, "dlopen has failed in the program"); return true;
    }
}

/* Stops the thread and uses it when it is at a safe point. Returns true when the search is over. */
static bool try_thread(struct injection *j, pid_t tid)
{
    uint64_t begin = strobe_interrupts_now_ns();
    enum strobe_status status = strobe_tracee_stop(&j->thread, j->remote.pid, tid);
    bool over = false;
    if (status == STROBE_OK) {
        j->unsafe = strobe_remote_unsafe(&j->remote, &j->thread);
        if (!j->unsafe && !has_stack_room(j->remote.pid, strobe_tracee_sp(&j->thread)))
            j->unsafe = "has too little room on its stack";
        over = !j->unsafe && j->use(j);
        strobe_tracee_release(&j->thread);
        j->out->threads_stopped++;
    } else if (status == STROBE_IO) {
        strobe_error_set(&j->out->error, "ptrace: %s", strerror(errno));
        over = j->out->refused = errno == EPERM || errno == EACCES;
    }
    j->out->stopped_ns += strobe_interrupts_now_ns() - begin;
    return over;
}

static bool try_threads(struct injection *j, enum preference wanted)
{
    static pid_t tids[THREADS_MAX];
    uint32_t count = list_threads(j->remote.pid, tids);
    for (uint32_t i = 0; i < count && !j->linker_busy; i++)
        if (tids[i] != j->helper && look_at_thread(j->remote.pid, tids[i]) == wanted && try_thread(j, tids[i]))
            return true;
    return false;
}

static void search_thread(struct injection *j)
{
    struct timespec pause = {0, 2000000}, linker_pause = {0, 100000000};
    uint64_t until = strobe_interrupts_now_ns() + SEARCH_NS;
    do {
        j->linker_busy = false;
        for (enum preference p = WAITS; p < UNFIT && !j->linker_busy; p++)
            if (try_threads(j, p))
                return;
        nanosleep(j->linker_busy ? &linker_pause : &pause, NULL);
        pause.tv_nsec = pause.tv_nsec * 2 < PAUSE_MAX_NS ? pause.tv_nsec * 2 : PAUSE_MAX_NS;
    } while (strobe_interrupts_now_ns() < until && kill(j->remote.pid, 0) == 0);
    strobe_error_set(&j->out->error, "no thread came to a safe point within 5 s: the last one %s",
                     j->unsafe ? j->unsafe : "is in a system call that cannot be interrupted");
}

/* ---- the tracer's process ---- */

/* Signals that end the command must not end the tracer. */
static void begin_tracer(void)
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGALRM);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "strobe-tracer");
}

/* Runs `work` in a child process, and reads its result of `bytes`. Returns false when there is none. */
static bool run_tracer(void (*work)(void *), void *result, size_t bytes)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        begin_tracer();
        work(result);
        _exit(write(ends[1], result, bytes) != (ssize_t)bytes);
    }
    close(ends[1]);
    ssize_t got = 0;
    if (child > 0)
        do
            got = read(ends[0], result, bytes);
        while (got < 0 && errno == EINTR);
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return got == (ssize_t)bytes;
}

struct work {
    pid_t pid;
    const char *library, *session;
    uint64_t end, handle;
    pid_t helper;
    struct strobe_injected out;
};

static void run_search(struct work *w, bool (*use)(struct injection *))
{
    static struct injection j;
    j = (struct injection){.out = &w->out,
                           .use = use,
                           .library = w->library,
                           .session = w->session,
                           .end = w->end,
                           .handle = w->handle,
                           .helper = w->helper};
    const char *why = strobe_remote_open(&j.remote, w->pid);
    if (why)
        strobe_error_set(&w->out.error, "%s", why);
    else
        search_thread(&j);
}

static void inject(void *arg)
{
    run_search(arg, load_library);
}

void strobe_inject(pid_t pid, const char *library, const char *session, struct strobe_injected *out)
{
    struct work w = {.pid = pid, .library = library, .session = session};
    if (!run_tracer(inject, &w, sizeof w))
        strobe_error_set(&w.out.error, "the tracer could not run: %s", strerror(errno));
    *out = w.out;
}

static bool end_library(struct injection *j)
{
    uint64_t ended = 0, unused = 1;
    j->out->done = call_to_end(j, j->end, 0, 0, &ended) == STROBE_OK && ended &&
                   call_to_end(j, j->remote.dlclose, j->handle, 0, &unused) == STROBE_OK && !unused;
    if (!j->out->done)
        strobe_error_set(&j->out->error, "dlclose has failed in the program");
    return true;
}

static void eject(void *arg)
{
    struct work *w = arg;
    run_search(w, end_library);
}

bool strobe_inject_end(pid_t pid, const struct strobe_attach_state *state, struct strobe_injected *out)
{
    struct work w = {.pid = pid, .end = state->end, .handle = state->handle, .helper = (pid_t)state->tid};
    bool ran = run_tracer(eject, &w, sizeof w);
    out->stopped_ns += w.out.stopped_ns;
    out->threads_stopped += w.out.threads_stopped;
    return ran && w.out.done;
}

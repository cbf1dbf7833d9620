#include "engine/base/pid_text.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/interrupts.h"
#include "engine/cmd/preload.h"
#include "engine/cmd/record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- signals ----
 *
 * The signals below are blocked while the program runs, and taken by sigtimedwait. SIGUSR2 takes a snapshot. A signal
 * from the terminal also reaches the program, which is in the same process group, so it is not passed on. A signal from
 * another process may have been sent to the group or to this process only; the two cases look the same. It is passed on
 * when the program still runs a moment later. */

enum { GRACE_NS = 100000000, AGAIN_NS = 500000000, KILL_NS = 2000000000 };

static const int taken[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR2};
enum { TAKEN = sizeof taken / sizeof *taken };

/* What the child process needs to execute the program. */
struct launch {
    const struct strobe_record_options *options;
    const char *path, *library, *session;
    char **argv;
};

struct signals {
    sigset_t waited, mask_before; /* the signals taken, with SIGCHLD; the mask before */
    struct sigaction child_before;
    uint64_t first_ns; /* time of the first signal; 0 = none */
    uint64_t due_ns;   /* when `number` must be sent to the program; 0 = nothing to send */
    uint64_t end_ns;   /* when the program must be ended; 0 = never */
    int number;
    int fd;          /* becomes readable with a signal; -1 = none */
    bool terminated; /* the program's time was over, and it got SIGTERM */
};

static void take_signals(struct signals *s)
{
    struct sigaction by_default = {.sa_handler = SIG_DFL}, now;
    sigemptyset(&s->waited);
    sigaddset(&s->waited, SIGCHLD);
    for (int i = 0; i < TAKEN; i++) /* signals that are ignored, for example by nohup, stay ignored */
        if (sigaction(taken[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&s->waited, taken[i]);
    sigaction(SIGCHLD, &by_default, &s->child_before);
    sigprocmask(SIG_BLOCK, &s->waited, &s->mask_before);
}

static void give_signals_back(const struct signals *s)
{
    sigaction(SIGCHLD, &s->child_before, NULL);
    sigprocmask(SIG_SETMASK, &s->mask_before, NULL);
}

/* Of several signals within half a second the first counts: `timeout` sends one to this process and one to the group. A
 * later signal means that the user does not want to wait any longer. */
static void forward_signal(struct signals *s, const siginfo_t *info, pid_t pid)
{
    uint64_t now = strobe_interrupts_now_ns();
    if (!s->first_ns) {
        s->first_ns = now;
        s->number = info->si_signo;
        s->due_ns = info->si_code == SI_KERNEL ? 0 : now + GRACE_NS;
    } else if (now - s->first_ns >= AGAIN_NS) {
        kill(pid, SIGKILL);
    }
}

/* Returns the next time at which the program gets a signal; 0: none. */
static uint64_t next_signal_due(const struct signals *s)
{
    if (!s->due_ns || !s->end_ns)
        return s->due_ns + s->end_ns;
    return s->due_ns < s->end_ns ? s->due_ns : s->end_ns;
}

/* A program that does not end by SIGTERM is killed. */
static void send_due_signal(struct signals *s, pid_t pid)
{
    uint64_t now = strobe_interrupts_now_ns();
    if (s->due_ns && s->due_ns <= now) {
        kill(pid, s->number);
        s->due_ns = 0;
    }
    if (s->end_ns && s->end_ns <= now) {
        kill(pid, s->terminated ? SIGKILL : SIGTERM);
        s->terminated = true;
        s->end_ns = now + KILL_NS;
    }
}

/* Waits for a signal, until `due_ns` at the most (0: without end), while it empties the buffers of scheduling. Returns
 * as sigtimedwait does; -1 with EAGAIN also when only a buffer was emptied. */
static int wait_and_drain(const struct signals *s, struct strobe_sched_recorder *r, uint64_t due_ns, siginfo_t *info)
{
    const struct timespec at_once = {0, 0};
    uint64_t now = strobe_interrupts_now_ns(), left = !due_ns ? UINT64_MAX : due_ns > now ? due_ns - now : 0;
    strobe_sched_recorder_wait(r, (struct pollfd){.fd = s->fd, .events = POLLIN}, left);
    return sigtimedwait(&s->waited, info, &at_once);
}

static int wait_for_signal(const struct signals *s, const struct launch *l, siginfo_t *info)
{
    uint64_t due = next_signal_due(s), now = strobe_interrupts_now_ns(), left = due > now ? due - now : 0;
    struct timespec most = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    if (strobe_sched_recorder_runs(l->options->sched) && s->fd >= 0)
        return wait_and_drain(s, l->options->sched, due, info);
    return due ? sigtimedwait(&s->waited, info, &most) : sigwaitinfo(&s->waited, info);
}

static void wait_for_end(struct signals *s, pid_t pid, const struct launch *l, int *wait_status)
{
    for (pid_t ended; (ended = waitpid(pid, wait_status, WNOHANG)) != pid;) {
        if (ended < 0 && errno == ECHILD)
            return;
        siginfo_t info;
        int number = wait_for_signal(s, l, &info);
        if (number == SIGUSR2)
            strobe_record_snapshot(l->options, l->session);
        else if (number > 0 && number != SIGCHLD)
            forward_signal(s, &info, pid);
        else if (number < 0 && errno == EAGAIN)
            send_due_signal(s, pid);
    }
}

/* ---- the program ---- */

/* Executes the program when the other end of `go_fd` is closed. */
_Noreturn static void become(const struct launch *l, int report_fd, int go_fd, const struct signals *signals)
{
    char none;
    give_signals_back(signals);
    while (go_fd >= 0 && read(go_fd, &none, 1) < 0 && errno == EINTR)
        continue;
    if (strobe_preload_set(l->library, l->session, l->options->only, l->options->control))
        execvp(l->path, l->argv);
    int why = errno;
    (void)!write(report_fd, &why, sizeof why);
    _exit(127);
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* Returns 0, or the errno of the failed exec. */
static int wait_for_exec(int fd)
{
    int why = 0;
    ssize_t n;
    do
        n = read(fd, &why, sizeof why);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof why ? why : 0;
}

/* Prints the command that talks to the control server. */
static void print_control(const char *control, pid_t pid)
{
    char name[STROBE_CONTROL_NAME_BYTES];
    if (strobe_insert_pid(control, strlen(control), (uint32_t)pid, name, sizeof name))
        fprintf(stderr, "strobe: curl --abstract-unix-socket %s http://strobe/status\n", name);
}

static int run_launched(const struct launch *l, int *wait_status)
{
    int report[2], go[2] = {-1, -1};
    if (pipe2(report, O_CLOEXEC) != 0)
        return strobe_complain("record: %s", strerror(errno));
    if (l->options->sched && pipe2(go, O_CLOEXEC) != 0) {
        close(report[0]);
        close(report[1]);
        return strobe_complain("record: %s", strerror(errno));
    }
    struct signals signals = {.fd = -1};
    take_signals(&signals);
    if (l->options->sched)
        signals.fd = signalfd(-1, &signals.waited, SFD_CLOEXEC | SFD_NONBLOCK);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close_if_open(go[1]);
        become(l, report[1], go[0], &signals);
    }
    close(report[1]);
    close_if_open(go[0]);
    if (pid > 0 && l->options->sched)
        strobe_record_begin_sched(l->options, pid, l->session);
    close_if_open(go[1]);
    if (pid < 0) {
        int error = errno;
        close(report[0]);
        close_if_open(signals.fd);
        give_signals_back(&signals);
        return strobe_complain("record: cannot start a process: %s", strerror(error));
    }
    int why = wait_for_exec(report[0]);
    close(report[0]);
    if (l->options->duration_ns)
        signals.end_ns = strobe_interrupts_now_ns() + l->options->duration_ns;
    if (l->options->control[0] && !l->options->quiet && !why)
        print_control(l->options->control, pid);
    wait_for_end(&signals, pid, l, wait_status);
    if (strobe_sched_recorder_runs(l->options->sched))
        strobe_sched_recorder_end(l->options->sched);
    close_if_open(signals.fd);
    strobe_interrupts_clean(signals.first_ns ? signals.first_ns + AGAIN_NS : 0);
    give_signals_back(&signals);
    return why ? strobe_complain("%s: %s", l->path, strerror(why)) : 0;
}

int strobe_record_run(const struct strobe_record_options *options, const char *path, char **argv, const char *session,
                      int *wait_status)
{
    char library[STROBE_PRELOAD_BYTES];
    struct strobe_plain_name plain;
    if (!strobe_library_find("libstrobe-preload.so", library, sizeof library))
        return strobe_complain("libstrobe-preload.so: not found beside the command nor in ../lib/strobe");
    if (!strobe_preload_give_name(&plain, library, sizeof library)) {
        strobe_preload_drop_name(&plain);
        return strobe_complain("%s: cannot make a link there: %s", strobe_plain_folder(), strerror(errno));
    }
    struct launch l = {options, path, library, session, argv};
    int status = run_launched(&l, wait_status);
    strobe_preload_drop_name(&plain);
    return status;
}

int strobe_record_end_as(int wait_status)
{
    if (!WIFSIGNALED(wait_status))
        return WEXITSTATUS(wait_status);
    int number = WTERMSIG(wait_status);
    struct rlimit no_core = {0, 0};
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    setrlimit(RLIMIT_CORE, &no_core);
    sigaction(number, &by_default, NULL);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
    return 128 + number;
}

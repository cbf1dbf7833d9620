#include "sim/cmd/cmd.h"
#include "sim/cmd/record.h"
#include "sim/real/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the program ---- */

static volatile sig_atomic_t child;

static void pass_on(int number)
{
    if (child > 0)
        kill((pid_t)child, number);
}

static const int left_to_program[] = {SIGINT, SIGQUIT}, passed_on[] = {SIGTERM, SIGHUP};
static struct sigaction before[4];

static void take_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, pass = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    for (int i = 0; i < 2; i++) {
        sigaction(left_to_program[i], &ignore, &before[i]);
        sigaction(passed_on[i], NULL, &before[2 + i]);
        if (before[2 + i].sa_handler != SIG_IGN)
            sigaction(passed_on[i], &pass, NULL);
    }
}

static void give_signals_back(void)
{
    for (int i = 0; i < 2; i++) {
        sigaction(left_to_program[i], &before[i], NULL);
        sigaction(passed_on[i], &before[2 + i], NULL);
    }
}

_Noreturn static void become(const char *path, char **argv, const char *library, const char *session, int report_fd)
{
    give_signals_back();
    if (sim_preload_set(library, session))
        execvp(path, argv);
    int why = errno;
    (void)!write(report_fd, &why, sizeof why);
    _exit(127);
}

/* 0, or the errno with which the exec failed. */
static int wait_for_exec(int fd)
{
    int why = 0;
    ssize_t n;
    do
        n = read(fd, &why, sizeof why);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof why ? why : 0;
}

static int run(const char *path, char **argv, const char *library, const char *session, int *wait_status)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return strobe_complain("record: %s", strerror(errno));
    take_signals();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become(path, argv, library, session, report[1]);
    child = pid;
    close(report[1]);
    if (pid < 0) {
        close(report[0]);
        give_signals_back();
        return strobe_complain("record: cannot start a process: %s", strerror(errno));
    }
    int why = wait_for_exec(report[0]);
    close(report[0]);
    while (waitpid(pid, wait_status, 0) < 0 && errno == EINTR)
        continue;
    child = 0;
    return why ? strobe_complain("%s: %s", path, strerror(why)) : 0;
}

int strobe_record_run(const char *path, char **argv, const char *session, int *wait_status)
{
    char library[SIM_PRELOAD_BYTES];
    struct sim_plain_name plain;
    if (!sim_library_find("libstrobe-preload.so", library, sizeof library))
        return strobe_complain("libstrobe-preload.so: not found beside the command nor in ../lib/strobe");
    if (!sim_preload_give_name(&plain, library, sizeof library)) {
        sim_preload_drop_name(&plain);
        return strobe_complain("/tmp: cannot make a link there: %s", strerror(errno));
    }
    int status = run(path, argv, library, session, wait_status);
    sim_preload_drop_name(&plain);
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

/* Runs a command and writes down what it used:  measure FILE COMMAND [ARGUMENT ...]
 *
 * FILE gets one line `STATUS USER_NS SYSTEM_NS WALL_NS`: the wait status of the command and the processor time of its
 * whole process tree. Processes that the command leaves behind become children of this one, and are waited for: the
 * command has ended when the last of them has. TERM, INT, HUP, QUIT and USR1 are passed on. The exit status is the
 * command's own, 128 + N when signal N ended it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile pid_t command;

static void pass_signal_on(int signal)
{
    if (command > 0)
        kill(command, signal);
}

static long long read_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static long long count_ns(struct timeval t)
{
    return t.tv_sec * 1000000000ll + t.tv_usec * 1000ll;
}

/* Waits for all children; returns the wait status of `pid`. */
static int wait_for_all(pid_t pid)
{
    int of_command = 0, status;
    for (;;) {
        pid_t ended = wait(&status);
        if (ended == pid)
            of_command = status;
        else if (ended < 0 && errno == ECHILD)
            return of_command;
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: measure FILE COMMAND [ARGUMENT ...]\n", stderr);
        return 2;
    }
    static const int passed[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1};
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    long long began = read_clock();
    pid_t pid = fork();
    if (pid < 0) {
        perror("measure: fork");
        return 2;
    }
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(argv[2], argv + 2);
        fprintf(stderr, "measure: %s: %s\n", argv[2], strerror(errno));
        _exit(127);
    }
    command = pid;
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        signal(passed[i], pass_signal_on);
    sigprocmask(SIG_SETMASK, &before, NULL);

    int status = wait_for_all(pid);
    long long wall = read_clock() - began;
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    FILE *file = fopen(argv[1], "w");
    long long user = count_ns(used.ru_utime), system = count_ns(used.ru_stime);
    if (!file || fprintf(file, "%d %lld %lld %lld\n", status, user, system, wall) < 0 || fclose(file)) {
        fprintf(stderr, "measure: %s: %s\n", argv[1], strerror(errno));
        return 2;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

#include "sim/cmd/cmd.h"
#include "sim/cmd/record.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- where the library is ---- */

bool strobe_record_find_library(char *out, size_t out_bytes)
{
    static const char *const places[] = {"%s/libstrobe-preload.so", "%s/../lib/strobe/libstrobe-preload.so"};
    char self[PATH_MAX], path[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return false;
    self[n] = '\0';
    const char *folder = dirname(self);
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, places[i], folder);
        char *whole = realpath(path, NULL);
        if (whole) {
            snprintf(out, out_bytes, "%s", whole);
            free(whole);
            return true;
        }
    }
    return false;
}

/* The dynamic linker splits LD_PRELOAD at blanks and colons, with no way to quote them: a path that has any is reached
 * through a link of a plain name. */
struct plain_name { char folder[32], link[64]; };

static bool give_plain_name(struct plain_name *p, char *library, size_t library_bytes)
{
    p->folder[0] = '\0';
    if (!strpbrk(library, " :\t\n"))
        return true;
    strcpy(p->folder, "/tmp/strobe-XXXXXX");
    if (!mkdtemp(p->folder)) {
        p->folder[0] = '\0';
        return false;
    }
    snprintf(p->link, sizeof p->link, "%s/libstrobe-preload.so", p->folder);
    bool linked = symlink(library, p->link) == 0;
    snprintf(library, library_bytes, "%s", p->link);
    return linked;
}

static void drop_plain_name(const struct plain_name *p)
{
    if (p->folder[0]) {
        unlink(p->link);
        rmdir(p->folder);
    }
}

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
    const char *others = getenv("LD_PRELOAD");
    char *preload = NULL;
    give_signals_back();
    if (asprintf(&preload, "%s%s%s", library, others && *others ? ":" : "", others ? others : "") > 0 &&
        setenv("LD_PRELOAD", preload, 1) == 0 && setenv("STROBE_SESSION", session, 1) == 0)
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
    char library[PATH_MAX + 64];
    struct plain_name plain;
    if (!strobe_record_find_library(library, sizeof library))
        return strobe_complain("libstrobe-preload.so: not found beside the command nor in ../lib/strobe");
    if (!give_plain_name(&plain, library, sizeof library)) {
        drop_plain_name(&plain);
        return strobe_complain("/tmp: cannot make a link there: %s", strerror(errno));
    }
    int status = run(path, argv, library, session, wait_status);
    drop_plain_name(&plain);
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

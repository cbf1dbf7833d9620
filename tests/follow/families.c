/* families HOW N: starts N children in one way, and waits for them; prints what it has done. */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static char *true_arguments[] = {"/bin/true", NULL};

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Uses a tenth of a second of CPU time, with few calls of the clock. */
__attribute__((noinline)) void busy_child(void)
{
    volatile unsigned long x = 1;
    while (cpu_seconds() < 0.1)
        for (int i = 0; i < 10000000; i++)
            x = x * 31 + 7;
}

static void *noise(void *stop)
{
    while (!*(volatile int *)stop)
        free(malloc(100));
    return NULL;
}

static int ended(pid_t pid)
{
    int status = -1;
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int fork_exec(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        execv("/bin/true", true_arguments);
        _exit(98);
    }
    return ended(pid);
}

/* The first files do not exist, as in a search along PATH. */
static int fork_exec_search(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        execv("/nowhere/true", true_arguments);
        execv("/nowhere/else/true", true_arguments);
        execv("/bin/true", true_arguments);
        _exit(98);
    }
    return ended(pid);
}

static int vfork_exec(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        execl("/nowhere/true", "true", (char *)NULL);
        execv("/bin/true", true_arguments);
        _exit(98);
    }
    return ended(pid);
}

static int spawn(void)
{
    pid_t pid;
    return posix_spawn(&pid, "/bin/true", NULL, NULL, true_arguments, environ) ? -1 : ended(pid);
}

static int run_system(void)
{
    return system("exit 0");
}

static int run_popen(void)
{
    FILE *p = popen("exit 0", "r");
    return p ? pclose(p) : -1;
}

static int fork_short(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return ended(pid);
}

static int fork_busy(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        busy_child();
        exit(0);
    }
    return ended(pid);
}

static int fork_killed(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        busy_child();
        kill(getpid(), SIGKILL);
    }
    int status = ended(pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : -1;
}

/* The child outlives its parent by half a second, and does not share its output. */
static int fork_outlives(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        fclose(stdout);
        busy_child();
        usleep(500 * 1000);
        busy_child();
        _exit(0);
    }
    return pid > 0 ? 0 : -1;
}

/* A child that forks before it has done anything else. */
static int fork_forks(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(fork_exec() ? 97 : 0);
    return ended(pid);
}

static int threads_fork(void)
{
    volatile int stop = 0;
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, noise, (void *)&stop);
    int bad = 0;
    for (int i = 0; i < 10; i++)
        bad |= fork_exec();
    stop = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return bad;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } ways[] = {
        {"fork_exec", fork_exec},     {"fork_exec_search", fork_exec_search},
        {"vfork_exec", vfork_exec},   {"spawn", spawn},
        {"system", run_system},       {"popen", run_popen},
        {"fork_short", fork_short},   {"fork_busy", fork_busy},
        {"fork_killed", fork_killed}, {"fork_outlives", fork_outlives},
        {"fork_forks", fork_forks},   {"threads_fork", threads_fork},
    };
    int bad = 0, found = 0;
    for (size_t w = 0; argc == 3 && w < sizeof ways / sizeof *ways; w++) {
        if (strcmp(ways[w].name, argv[1]))
            continue;
        found = 1;
        for (int i = atoi(argv[2]); i-- > 0;)
            bad += ways[w].run() != 0;
    }
    printf("%s %s: %d bad\n", argc > 1 ? argv[1] : "?", argc > 2 ? argv[2] : "?", bad);
    return bad || !found;
}

/* Child processes made in each way: the engine does not affect them, and all end as expected. */
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *noise(void *stop)
{
    while (!*(volatile int *)stop)
        free(malloc(100));
    return NULL;
}

static int wait_for(pid_t pid)
{
    int status = -1;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int library_is_loaded(void)
{
    return getenv("LD_PRELOAD") != NULL || getenv("STROBE_SESSION") != NULL;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "again")) {
        printf("executed again: %s %s\n", argv[2], library_is_loaded() ? "with variables" : "clean");
        return 3;
    }
    char *args[] = {"sh", "-c", "test -z \"$LD_PRELOAD$STROBE_SESSION\" && exit 11 || exit 12", NULL};
    volatile int stop = 0;
    pthread_t t;
    pthread_create(&t, NULL, noise, (void *)&stop);
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int k = 0; k < 1000; k++)
                free(malloc((size_t)k));
            _exit(library_is_loaded() ? 99 : i);
        }
        if (wait_for(pid) != i)
            puts("fork: odd");
        pid = vfork();
        if (pid == 0) {
            close(-1);
            execv("/bin/sh", args);
            _exit(98);
        }
        if (wait_for(pid) != 11)
            puts("vfork: odd");
        if (posix_spawn(&pid, "/bin/sh", NULL, NULL, args, environ) || wait_for(pid) != 11)
            puts("posix_spawn: odd");
        pid = vfork();
        if (pid == 0) {
            execl("/nowhere/at/all", "x", (char *)NULL);
            _exit(errno == ENOENT ? 5 : 6);
        }
        if (wait_for(pid) != 5)
            puts("failed exec in vfork: odd");
    }
    stop = 1;
    pthread_join(t, NULL);
    fflush(stdout);
    int status = system("echo from a shell; exit 4");
    printf("system: %d\n", WEXITSTATUS(status));
    FILE *p = popen("echo from a pipe", "r");
    char line[64] = "";
    if (!p || !fgets(line, sizeof line, p))
        return 1;
    printf("popen: %s", line);
    printf("pclose: %d\n", WEXITSTATUS(pclose(p)));
    execl("/nowhere/at/all", "x", (char *)NULL);
    printf("failed exec: %s\n", strerror(errno));
    fflush(stdout);
    execlp(argv[0], argv[0], "again", "by execlp", (char *)NULL);
    return 1;
}

/* Processes. An exec in the recorded process closes its session and prepares one for the new program. _exit closes the
 * session as exit does. Children of posix_spawn, system and popen are counted. */
#include "engine/backend/linux/preload/environment.h"
#include "engine/backend/linux/preload/hook.h"

#include <alloca.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- exec ---- */

/* Closes the session of the recorded process, and returns the environment for the exec. */
static char *const *prepare_exec(bool *closed, char *const *environment)
{
    *closed = strobe_preload_close_for_exec();
    if (!*closed)
        strobe_preload_count_vforked();
    return *closed ? strobe_environment_for_exec(environment) : environment;
}

static void resume_after_exec(bool closed)
{
    int saved = errno;
    if (closed)
        strobe_preload_reopen();
    errno = saved;
}

HOOK(int, execve)(const char *path, char *const argv[], char *const envp[])
{
    bool closed;
    char *const *environment = prepare_exec(&closed, envp);
    int r = strobe_real()->execve(path, argv, environment);
    resume_after_exec(closed);
    return r;
}

HOOK(int, execvpe)(const char *file, char *const argv[], char *const envp[])
{
    bool closed;
    char *const *environment = prepare_exec(&closed, envp);
    int r = strobe_real()->execvpe(file, argv, environment);
    resume_after_exec(closed);
    return r;
}

HOOK(int, fexecve)(int fd, char *const argv[], char *const envp[])
{
    bool closed;
    char *const *environment = prepare_exec(&closed, envp);
    int r = strobe_real()->fexecve(fd, argv, environment);
    resume_after_exec(closed);
    return r;
}

HOOK(int, execv)(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

HOOK(int, execvp)(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

/* Counts the arguments from `first` on, including the NULL. */
static size_t count_arguments(const char *first, va_list arguments)
{
    size_t n = 1;
    for (const char *a = first; a; a = va_arg(arguments, const char *))
        n++;
    return n;
}

#define GATHER_ARGUMENTS(argv, first, arguments)                                                                       \
    va_start(arguments, first);                                                                                        \
    char **argv = alloca(count_arguments(first, arguments) * sizeof *argv);                                            \
    va_end(arguments);                                                                                                 \
    va_start(arguments, first);                                                                                        \
    argv[0] = (char *)(uintptr_t)first;                                                                                \
    for (size_t i_ = 0; argv[i_]; i_++)                                                                                \
    argv[i_ + 1] = va_arg(arguments, char *)

HOOK(int, execl)(const char *path, const char *first, ...)
{
    va_list arguments;
    GATHER_ARGUMENTS(argv, first, arguments);
    va_end(arguments);
    return execve(path, argv, environ);
}

HOOK(int, execlp)(const char *file, const char *first, ...)
{
    va_list arguments;
    GATHER_ARGUMENTS(argv, first, arguments);
    va_end(arguments);
    return execvpe(file, argv, environ);
}

HOOK(int, execle)(const char *path, const char *first, ...)
{
    va_list arguments;
    GATHER_ARGUMENTS(argv, first, arguments);
    char *const *envp = va_arg(arguments, char *const *);
    va_end(arguments);
    return execve(path, argv, envp);
}

/* ---- end ---- */

HOOK(void, _exit)(int status)
{
    strobe_preload_close();
    strobe_real()->_exit(status);
    __builtin_unreachable();
}

HOOK(void, _Exit)(int status)
{
    _exit(status);
}

/* ---- children that the C library starts, without a call of fork that a hook sees. They are counted. system is also a
 * wait for its child ---- */

HOOK(int, posix_spawn)
(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
 char *const argv[], char *const envp[])
{
    int r = strobe_real()->posix_spawn(pid, path, actions, attributes, argv, envp);
    if (r == 0)
        strobe_preload_count_child();
    return r;
}

HOOK(int, posix_spawnp)
(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
 char *const argv[], char *const envp[])
{
    int r = strobe_real()->posix_spawnp(pid, file, actions, attributes, argv, envp);
    if (r == 0)
        strobe_preload_count_child();
    return r;
}

HOOK(int, system)(const char *command)
{
    HOOK_BEGINS;
    SCOPE(STROBE_KIND_CHILD, 0);
    int r = strobe_real()->system(command);
    if (command && r != -1)
        strobe_preload_count_child();
    return r;
}

HOOK(FILE *, popen)(const char *command, const char *mode)
{
    FILE *f = strobe_real()->popen(command, mode);
    if (f)
        strobe_preload_count_child();
    return f;
}

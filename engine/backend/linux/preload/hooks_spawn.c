/* Children that the C library starts itself, without a call of fork that a hook sees. They are counted. system is also
 * a wait for its child. */
#include "engine/backend/linux/preload/hook.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>

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

#include "engine/backend/linux/preload/environment.h"

#include "engine/backend/linux/preload/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PRELOAD_BYTES = 8192, ENTRIES_MAX = 4096, EXECS_MAX = 1000 };

static char session_path[PATH_MAX];
static char preload_value[PRELOAD_BYTES];       /* LD_PRELOAD as the program would have had it, "" for unset */
static char library_path[PATH_MAX];             /* ours, as the command named it */

static const char preload_name[] = "LD_PRELOAD=", session_name[] = STROBE_ENV_SESSION "=";

/* ---- taking the variables out ---- */

static char **find(char **list, const char *name)
{
    size_t n = strlen(name);
    for (; list && *list; list++)
        if (!strncmp(*list, name, n))
            return list;
    return NULL;
}

static void drop(char **entry)
{
    for (; *entry; entry++)
        entry[0] = entry[1];
}

static bool copy(char *to, size_t room, const char *from, size_t bytes)
{
    if (bytes >= room)
        return false;
    memcpy(to, from, bytes);
    to[bytes] = '\0';
    return true;
}

/* The dynamic linker separates names by blanks and colons; ours is the first. */
static bool split_preload(const char *value)
{
    size_t n = strcspn(value, " :");
    const char *rest = value[n] ? value + n + 1 : "";
    return copy(library_path, sizeof library_path, value, n) &&
           copy(preload_value + sizeof preload_name - 1, sizeof preload_value - sizeof preload_name + 1, rest,
                strlen(rest));
}

static void hide(void)
{
    char **preload = find(environ, preload_name);
    if (preload && preload_value[sizeof preload_name - 1])
        *preload = preload_value;
    else if (preload)
        drop(preload);
    char **session = find(environ, session_name);
    if (session)
        drop(session);
}

void strobe_environment_take(void)
{
    char **preload = find(environ, preload_name), **session = find(environ, session_name);
    if (!preload || !session || !split_preload(*preload + sizeof preload_name - 1))
        return;
    memcpy(preload_value, preload_name, sizeof preload_name - 1);
    const char *path = *session + sizeof session_name - 1;
    if (!copy(session_path, sizeof session_path, path, strlen(path)))
        session_path[0] = '\0';
}

/* ---- which session ---- */

static void read_command(char *out, size_t room)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
    long n = fd < 0 ? 0 : syscall(SYS_read, fd, out, room - 1);
    if (fd >= 0)
        syscall(SYS_close, fd);
    while (n > 0 && out[n - 1] == '\0')
        n--;
    for (long i = 0; i < n; i++)
        if (out[i] == '\0')
            out[i] = ' ';
    out[n > 0 ? n : 0] = '\0';
}

static bool make(const char *path, uint32_t pid, const struct strobe_config *config, struct strobe_session *out)
{
    struct strobe_session made;
    char command[1024];
    read_command(command, sizeof command);
    if (strobe_session_create(path, config, command, 0, &made) != STROBE_OK)
        return false;
    if (made.fd >= 0)
        syscall(SYS_close, made.fd);
    strobe_session_unmap(&made);
    return strobe_session_attach(path, pid, out) == STROBE_OK;
}

/* Moves the session of the program that this one replaces out of the way, under the first free name. */
static bool move_aside(const char *path)
{
    char aside[PATH_MAX + 16];
    for (int i = 1; i < EXECS_MAX; i++) {
        snprintf(aside, sizeof aside, "%s.exec%d", path, i);
        if (syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, aside, 1u /* RENAME_NOREPLACE */) == 0)
            return true;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

/* The session at `path` has been attached to before: by this process before an exec, or by another one. */
static bool succeed(const char *path, uint32_t pid, struct strobe_session *out)
{
    struct strobe_session old;
    if (strobe_session_open(path, &old) != STROBE_OK)
        return false;
    struct strobe_config config = old.header->config;
    bool own = old.header->pid == pid;
    strobe_session_unmap(&old);
    if (own)
        return move_aside(path) && make(path, pid, &config, out);
    return config.follow && strobe_environment_child_session(pid, &config, out);
}

bool strobe_environment_open_session(uint32_t pid, struct strobe_session *out)
{
    if (!session_path[0])
        return false;
    enum strobe_status s = strobe_session_attach(session_path, pid, out);
    bool traced = s == STROBE_OK || (s == STROBE_EXISTS && succeed(session_path, pid, out));
    if (!traced || !out->header->config.follow)
        hide();
    return traced;
}

bool strobe_environment_child_session(uint32_t pid, const struct strobe_config *config, struct strobe_session *out)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s.%u", session_path, pid);
    if (access(path, F_OK) == 0 && !move_aside(path))
        return false;
    return make(path, pid, config, out);
}

/* ---- handing the variables on ---- */

char *const *strobe_environment_for_exec(char *const *from)
{
    static char *list[ENTRIES_MAX];
    static char preload[PRELOAD_BYTES], session[PATH_MAX + sizeof session_name];
    const char *theirs = "";
    size_t n = 0;
    for (char *const *e = from; e && *e; e++) {
        if (n + 3 >= ENTRIES_MAX)
            return from;
        if (!strncmp(*e, preload_name, sizeof preload_name - 1))
            theirs = *e + sizeof preload_name - 1;
        else if (strncmp(*e, session_name, sizeof session_name - 1))
            list[n++] = *e;
    }
    bool ours_already = !strncmp(theirs, library_path, strlen(library_path));
    int used = snprintf(preload, sizeof preload, "%s%s%s%s", preload_name, ours_already ? "" : library_path,
                        *theirs && !ours_already ? ":" : "", theirs);
    snprintf(session, sizeof session, "%s%s", session_name, session_path);
    if (used < 0 || (size_t)used >= sizeof preload)
        return from;
    list[n++] = preload;
    list[n++] = session;
    list[n] = NULL;
    return list;
}

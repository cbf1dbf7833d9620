#include "engine/backend/linux/preload/environment.h"

#include "engine/backend/linux/preload/followed.h"
#include "engine/backend/linux/preload/preload.h"
#include "engine/base/pid_text.h"
#include "engine/control/socket.h"

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
static char preload_value[PRELOAD_BYTES]; /* previous entry of LD_PRELOAD; without a value: it was not set */
static char library_path[PATH_MAX];       /* path of this library, as the command wrote it */
static char only_names[NAME_MAX + 1];     /* programs to follow, see followed.h; "": all */

static char control_value[STROBE_CONTROL_NAME_BYTES]; /* as the command wrote it */

static char asan_value[PRELOAD_BYTES]; /* previous entry of ASAN_OPTIONS; "": not changed by the command */

static const char preload_name[] = "LD_PRELOAD=", session_name[] = STROBE_ENV_SESSION "=",
                  asan_name[] = "ASAN_OPTIONS=", asan_ours[] = STROBE_ASAN_OPTION;
static const char only_name[] = STROBE_ENV_ONLY "=", control_name[] = STROBE_ENV_CONTROL "=";

/* ---- reading and removing the variables ---- */

static char **find_environment_variable(char **list, const char *name)
{
    size_t n = strlen(name);
    for (; list && *list; list++)
        if (!strncmp(*list, name, n))
            return list;
    return NULL;
}

static void remove_list_entry(char **entry)
{
    for (; *entry; entry++)
        entry[0] = entry[1];
}

static bool copy_bytes(char *to, size_t capacity, const char *from, size_t bytes)
{
    if (bytes >= capacity)
        return false;
    memcpy(to, from, bytes);
    to[bytes] = '\0';
    return true;
}

/* Splits LD_PRELOAD into this library's path, which is the first, and the previous value. The dynamic linker accepts
 * blanks and colons as separators. */
static bool split_preload(const char *value)
{
    size_t n = strcspn(value, " :");
    const char *rest = value[n] ? value + n + 1 : "";
    return copy_bytes(library_path, sizeof library_path, value, n) &&
           copy_bytes(preload_value + sizeof preload_name - 1, sizeof preload_value - sizeof preload_name + 1, rest,
                      strlen(rest));
}

/* Stores ASAN_OPTIONS without the option that the command has put first. Without that option it stores nothing. */
static void split_asan_options(const char *value)
{
    size_t ours = sizeof asan_ours - 1;
    if (strncmp(value, asan_ours, ours) || (value[ours] && value[ours] != ':'))
        return;
    const char *rest = value[ours] ? value + ours + 1 : "";
    memcpy(asan_value, asan_name, sizeof asan_name - 1);
    if (!copy_bytes(asan_value + sizeof asan_name - 1, sizeof asan_value - sizeof asan_name + 1, rest, strlen(rest)))
        asan_value[0] = '\0';
}

static void restore_asan_options(void)
{
    char **asan = asan_value[0] ? find_environment_variable(environ, asan_name) : NULL;
    if (asan && asan_value[sizeof asan_name - 1])
        *asan = asan_value;
    else if (asan)
        remove_list_entry(asan);
}

static void remove_environment_variable(const char *name)
{
    char **entry = find_environment_variable(environ, name);
    if (entry)
        remove_list_entry(entry);
}

void strobe_environment_hide(void)
{
    restore_asan_options();
    char **preload = find_environment_variable(environ, preload_name);
    if (preload && preload_value[sizeof preload_name - 1])
        *preload = preload_value;
    else if (preload)
        remove_list_entry(preload);
    remove_environment_variable(session_name);
    remove_environment_variable(only_name);
    remove_environment_variable(control_name);
}

static void copy_variable_value(const char *name, char *out, size_t capacity)
{
    char **entry = find_environment_variable(environ, name);
    const char *value = entry ? *entry + strlen(name) : "";
    if (!copy_bytes(out, capacity, value, strlen(value)))
        out[0] = '\0';
}

void strobe_environment_take(void)
{
    char **preload = find_environment_variable(environ, preload_name),
         **session = find_environment_variable(environ, session_name);
    if (!preload || !session || !split_preload(*preload + sizeof preload_name - 1))
        return;
    memcpy(preload_value, preload_name, sizeof preload_name - 1);
    char **asan = find_environment_variable(environ, asan_name);
    if (asan)
        split_asan_options(*asan + sizeof asan_name - 1);
    copy_variable_value(session_name, session_path, sizeof session_path);
    copy_variable_value(only_name, only_names, sizeof only_names);
    copy_variable_value(control_name, control_value, sizeof control_value);
}

const char *strobe_environment_control(void)
{
    static char name[STROBE_CONTROL_NAME_BYTES];
    if (!strobe_insert_pid(control_value, strlen(control_value), (uint32_t)getpid(), name, sizeof name))
        name[0] = '\0';
    return name;
}

/* ---- the session of this process ---- */

/* Creates the session at `path` and attaches to it. */
static bool create_and_attach_session(const char *path, uint32_t pid, const struct strobe_config *config,
                                      struct strobe_session *out)
{
    struct strobe_session made;
    char command[1024];
    strobe_linux_command(command, sizeof command);
    if (strobe_session_create(path, config, command, 0, &made) != STROBE_OK)
        return false;
    strobe_session_unmap(&made);
    return strobe_session_attach(path, pid, out) == STROBE_OK;
}

/* Renames the session of the program before the exec to the first free name of PATH.exec1, PATH.exec2, ... */
static bool rename_replaced_session(const char *path)
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

/* Reads the header of the session at `path`. The session is not mapped, which would take longer than the start of a
 * followed program. */
static bool read_session_header(const char *path, struct strobe_session_header *out)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    long n = fd < 0 ? 0 : syscall(SYS_read, fd, out, sizeof *out);
    if (fd >= 0)
        syscall(SYS_close, fd);
    return n == (long)sizeof *out && out->version == STROBE_SESSION_VERSION &&
           !memcmp(&out->magic, STROBE_SESSION_MAGIC, sizeof out->magic);
}

/* Opens a session when a process has already attached to the session at `path`: this process before an exec, or another
 * process. `first` is that session's header. A followed process gets a separate file. Otherwise this process must be
 * the first one, after an exec. */
static bool open_next_session(const char *path, uint32_t pid, const struct strobe_session_header *first,
                              struct strobe_session *out)
{
    if (first->config.follow)
        return strobe_followed_wants(only_names) && strobe_followed_open(path, pid, &first->config, out);
    return first->pid == pid && rename_replaced_session(path) &&
           create_and_attach_session(path, pid, &first->config, out);
}

/* Returns true when the programs that this one starts are followed. This program itself may be `traced` or not. */
static bool are_children_followed(bool traced, const struct strobe_session *session)
{
    struct strobe_session_header first;
    return traced ? session->header->config.follow : read_session_header(session_path, &first) && first.config.follow;
}

/* Attaches to the session of this process. For most followed programs the header shows that another process has
 * attached already, so the session need not be mapped. */
static bool attach_own_session(uint32_t pid, struct strobe_session *out)
{
    struct strobe_session_header first;
    bool known = read_session_header(session_path, &first);
    bool taken = known && first.config.follow && strobe_load_relaxed(&first.state) != STROBE_SESSION_CREATED;
    enum strobe_status s = taken ? STROBE_EXISTS : strobe_session_attach(session_path, pid, out);
    if (s == STROBE_EXISTS && !taken)
        known = read_session_header(session_path, &first);
    return s == STROBE_OK || (s == STROBE_EXISTS && known && open_next_session(session_path, pid, &first, out));
}

bool strobe_environment_open_session(uint32_t pid, struct strobe_session *out)
{
    if (!session_path[0])
        return false;
    bool traced = attach_own_session(pid, out);
    if (!are_children_followed(traced, out))
        strobe_environment_hide();
    return traced;
}

bool strobe_environment_child_session(uint32_t pid, const struct strobe_config *config, struct strobe_session *out)
{
    return strobe_followed_open(session_path, pid, config, out);
}

/* ---- the variables for an exec ---- */

char *const *strobe_environment_for_exec(char *const *from)
{
    static char *list[ENTRIES_MAX];
    static char preload[PRELOAD_BYTES], session[PATH_MAX + sizeof session_name], asan[PRELOAD_BYTES];
    static char only[NAME_MAX + sizeof only_name], control[sizeof control_value + sizeof control_name];
    const char *previous_preload = "", *previous_asan = "";
    size_t n = 0;
    if (!session_path[0]) /* the capture began by strobe_start */
        return from;
    for (char *const *e = from; e && *e; e++) {
        if (n + 6 >= ENTRIES_MAX)
            return from;
        if (!strncmp(*e, preload_name, sizeof preload_name - 1))
            previous_preload = *e + sizeof preload_name - 1;
        else if (!strncmp(*e, asan_name, sizeof asan_name - 1))
            previous_asan = *e + sizeof asan_name - 1;
        else if (strncmp(*e, session_name, sizeof session_name - 1) && strncmp(*e, only_name, sizeof only_name - 1) &&
                 strncmp(*e, control_name, sizeof control_name - 1))
            list[n++] = *e;
    }
    bool ours_already = !strncmp(previous_preload, library_path, strlen(library_path));
    int used = snprintf(preload, sizeof preload, "%s%s%s%s", preload_name, ours_already ? "" : library_path,
                        *previous_preload && !ours_already ? ":" : "", previous_preload);
    snprintf(session, sizeof session, "%s%s", session_name, session_path);
    bool asan_already = !strncmp(previous_asan, asan_ours, sizeof asan_ours - 1);
    int asan_used = snprintf(asan, sizeof asan, "%s%s%s%s", asan_name, asan_already ? "" : asan_ours,
                             *previous_asan && !asan_already ? ":" : "", previous_asan);
    if (used < 0 || (size_t)used >= sizeof preload || asan_used < 0 || (size_t)asan_used >= sizeof asan)
        return from;
    list[n++] = preload;
    list[n++] = asan;
    list[n++] = session;
    snprintf(only, sizeof only, "%s%s", only_name, only_names);
    if (only_names[0])
        list[n++] = only;
    snprintf(control, sizeof control, "%s%s", control_name, control_value);
    if (control_value[0])
        list[n++] = control;
    list[n] = NULL;
    return list;
}

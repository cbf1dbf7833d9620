/* Places of a recording's sessions: one file, or, with --follow, a directory with a file for each process. Files that
 * an earlier recording left under the same name are never used for the new recording. */
#include "engine/cmd/cmd.h"
#include "engine/cmd/record/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIM_FROM_BLOCKS = 8192 }; /* in blocks of 512 bytes: smaller files are sparse already */

static bool is_session_path(const char *path)
{
    char magic[sizeof STROBE_SESSION_MAGIC - 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    ssize_t n = fd < 0 ? 0 : read(fd, magic, sizeof magic);
    if (fd >= 0)
        close(fd);
    return n == (ssize_t)sizeof magic && !memcmp(magic, STROBE_SESSION_MAGIC, sizeof magic);
}

/* ---- files of an earlier recording */

/* Builds the path FILE.exec1, FILE.exec2, ...: sessions of programs that an exec replaced, in that order. */
static bool exec_path(char *out, size_t bytes, const char *session, int number)
{
    int n = snprintf(out, bytes, "%s.exec%d", session, number);
    return n > 0 && (size_t)n < bytes && access(out, F_OK) == 0;
}

static int clear_execs(const char *session, bool replace)
{
    char path[PATH_MAX + 16];
    for (int i = 1; exec_path(path, sizeof path, session, i); i++) {
        if (!replace || !is_session_path(path))
            return strobe_complain(replace ? "%s: is not a session and is not overwritten"
                                           : "%s: exists already; --force overwrites it",
                                   path);
        if (unlink(path) != 0)
            return strobe_complain("%s: %s", path, strerror(errno));
    }
    return 0;
}

/* Removes the sessions in the directory; other files stay. */
static int clear_folder(const char *folder, bool replace)
{
    DIR *d = opendir(folder);
    if (!d)
        return strobe_complain("%s: %s", folder, strerror(errno));
    int status = 0;
    for (struct dirent *e; status == 0 && (e = readdir(d)) != NULL;) {
        char path[2 * PATH_MAX];
        size_t n = strlen(e->d_name), ending = sizeof STROBE_SESSION_ENDING - 1;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (n <= ending || strcmp(e->d_name + n - ending, STROBE_SESSION_ENDING) || !is_session_path(path))
            continue;
        if (!replace)
            status = strobe_complain("%s: contains sessions already; --force overwrites them", folder);
        else if (unlink(path) != 0)
            status = strobe_complain("%s: %s", path, strerror(errno));
    }
    closedir(d);
    return status;
}

static int make_folder(const struct strobe_record_options *o)
{
    struct stat st;
    if (lstat(o->session, &st) == 0 && !S_ISDIR(st.st_mode)) {
        if (!o->replace || !is_session_path(o->session))
            return strobe_complain(o->replace ? "%s: is not a session and is not overwritten"
                                              : "%s: exists already; --force overwrites it",
                                   o->session);
        int status = clear_execs(o->session, true);
        if (status)
            return status;
        if (unlink(o->session) != 0)
            return strobe_complain("%s: %s", o->session, strerror(errno));
    }
    if (mkdir(o->session, 0777) == 0)
        return 0;
    if (errno != EEXIST)
        return strobe_complain("%s: cannot make a session there: %s", o->session, strerror(errno));
    return clear_folder(o->session, o->replace);
}

/* Clears the place for one file, where an earlier recording with --follow may have left a directory. */
static int clear_for_file(const struct strobe_record_options *o)
{
    if (strobe_session_set_is_folder(o->session)) {
        if (!o->replace)
            return strobe_complain("%s: exists already; --force overwrites it", o->session);
        int status = clear_folder(o->session, true);
        if (status)
            return status;
        if (rmdir(o->session) != 0)
            return strobe_complain("%s: %s", o->session, strerror(errno));
    }
    return clear_execs(o->session, o->replace);
}

/* ---- making the first session */

int strobe_record_create(const struct strobe_record_options *o, char **argv, char *path)
{
    char command[1024] = "", wanted[PATH_MAX];
    size_t n = 0;
    for (char **a = argv; *a && n + 1 < sizeof command; a++)
        n += (size_t)snprintf(command + n, sizeof command - n, "%s%s", n ? " " : "", *a);
    int status = o->config.follow ? make_folder(o) : clear_for_file(o);
    if (status)
        return status;
    int length = snprintf(wanted, sizeof wanted, o->config.follow ? "%s/" STROBE_SESSION_MAIN : "%s", o->session);
    if (length < 0 || (size_t)length >= sizeof wanted)
        return strobe_complain("record: output name is too long");
    struct strobe_session made;
    switch (strobe_session_create(wanted, &o->config, command, o->replace, &made)) {
    case STROBE_OK: break;
    case STROBE_EXISTS: return strobe_complain("%s: exists already; --force overwrites it", wanted);
    case STROBE_BAD_INPUT: return strobe_complain("record: the options do not fit together");
    default:
        status = strobe_complain("%s: cannot make a session of %llu MiB there: %s", wanted,
                                 (unsigned long long)(strobe_session_file_bytes(&o->config) >> 20), strerror(errno));
        if (o->config.follow)
            rmdir(o->session);
        return status;
    }
    strobe_session_unmap(&made);
    if (realpath(wanted, path))
        return 0;
    status = strobe_complain("%s: %s", wanted, strerror(errno));
    strobe_record_discard(o, wanted);
    return status;
}

void strobe_record_discard(const struct strobe_record_options *o, const char *path)
{
    unlink(path);
    if (o->config.follow)
        rmdir(o->session);
}

/* ---- after the run */

/* `ended`: the process of this session has been waited for. */
static void trim_session_file(const char *path, bool ended)
{
    struct stat st;
    if (stat(path, &st) != 0 || st.st_blocks < TRIM_FROM_BLOCKS)
        return;
    if (ended)
        strobe_session_trim_closed(path);
    else
        strobe_session_trim(path);
}

/* The programs before an exec come first. */
static enum strobe_status list_file(const char *session, struct strobe_session_set *out)
{
    char path[PATH_MAX + 16];
    enum strobe_status status = STROBE_OK;
    *out = (struct strobe_session_set){0};
    for (int i = 1; status == STROBE_OK && exec_path(path, sizeof path, session, i); i++)
        status = strobe_session_set_add(out, path);
    return status == STROBE_OK ? strobe_session_set_add(out, session) : status;
}

int strobe_record_list(const struct strobe_record_options *o, const char *first, struct strobe_session_set *out)
{
    enum strobe_status status = o->config.follow ? strobe_session_set_list(o->session, out) : list_file(first, out);
    if (status != STROBE_OK)
        return strobe_complain("%s: %s", o->session, strerror(errno));
    for (size_t i = 0; i < out->count; i++)
        trim_session_file(out->paths[i], !strcmp(out->paths[i], first));
    return 0;
}

struct begin {
    uint32_t pid;
    uint64_t ns;
};

static struct begin read_process_begin(const char *path)
{
    struct strobe_session s;
    if (strobe_session_open(path, &s) != STROBE_OK)
        return (struct begin){0};
    struct begin b = {s.header->pid, s.header->begin.monotonic_ns};
    strobe_session_unmap(&s);
    return b;
}

void strobe_record_store_end(const struct strobe_session_set *sessions, const char *first, int wait_status)
{
    struct begin last = read_process_begin(first);
    const char *path = first;
    for (size_t i = 0; i < sessions->count; i++) {
        struct begin b = read_process_begin(sessions->paths[i]);
        if (b.pid == last.pid && b.ns > last.ns) {
            last = b;
            path = sessions->paths[i];
        }
    }
    strobe_session_note_end(path, WIFSIGNALED(wait_status) ? STROBE_SESSION_KILLED : STROBE_SESSION_EXITED);
}
